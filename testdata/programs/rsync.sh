#!/bin/sh
# program: rsync
# does: mirrors a tree with `-a --delete`; files that belong to others arrive as the job's own
# version: rsync --version
# needs: rsync
# prints: mirrored
set -e
mkdir from to
echo 1 >from/a
echo 2 >from/b
rsync -a from/ to/
rm from/b
rsync -a --delete from/ to/
rsync -a /usr/bin/true to/
[ ! -e to/b ] && cmp from/a to/a && cmp /usr/bin/true to/true && echo mirrored
