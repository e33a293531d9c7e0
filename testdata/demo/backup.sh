#!/bin/sh
# Packs data/ and checks what it packed, as a nightly backup would.
set -eu
tar -czf backup.tar.gz.new data
(cd data && sha256sum -- *) >SHA256SUMS
mkdir -p check
tar -xzf backup.tar.gz.new -C check
(cd check/data && sha256sum -c ../../SHA256SUMS)
rm -r check
mv backup.tar.gz.new backup.tar.gz
ls -l backup.tar.gz
