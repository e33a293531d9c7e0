#!/bin/sh
# program: tar
# does: packs and unpacks with gzip, hard and symbolic links kept; `--owner=0 --group=0` for archives of root
# version: tar --version
# needs: tar gzip
# prints: same same link
set -e
mkdir data out
echo same >data/a
ln data/a data/b
ln -s a data/c
tar -czf data.tgz data
tar -xzf data.tgz -C out
tar --owner=0 --group=0 -cf root.tar data
tar --numeric-owner -tvf root.tar data/a | grep -q " 0/0 "
[ out/data/a -ef out/data/b ]
echo $(cat out/data/b out/data/c) link
