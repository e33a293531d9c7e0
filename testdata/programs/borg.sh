#!/bin/sh
# program: borg
# does: backs up, checks, restores into the workspace
# version: borg --version
# needs: borg
# slow: yes
# arch: amd64
# why: on arm64 what libuuid tries is not told apart and counts as denied
# sign: there `esc_unix_socket AF_UNIX` and `net_denied_direct AF_INET` in `denials.expected`
# prints: restored
set -e
export BORG_PASSPHRASE=example-only
mkdir data
echo restored >data/file
borg init -e repokey repo
borg create repo::a data
borg check repo
mkdir out
cd out
borg extract ../repo::a
cat data/file
