#!/bin/sh
# program: restic
# does: backs up, checks, restores into the workspace
# version: restic version
# needs: restic
# prints: restored
set -e
export RESTIC_PASSWORD=example-only
mkdir data
echo restored >data/file
restic -q init -r repo
restic -q -r repo backup data
restic -q -r repo check
restic -q -r repo restore latest --target out
find out -name file -exec cat {} +
