#!/bin/sh
# program: borg
# does: backs up, checks, restores into the workspace
# version: borg --version
# needs: borg
# slow: yes
# ends: works as signed
# prints: restored
# expected: esc_unix_socket AF_UNIX
# expected: net_denied_direct AF_INET
# why: libuuid looks for uuidd and for network cards when it makes an id; borg does without them
# sign: both in `denials.expected`
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
