#!/bin/sh
# program: go
# does: `go build` with a module from a GOPROXY, standard library compiled anew; wants `limits.tmp` for its caches
# version: /usr/local/go/bin/go version
# needs: go
# server: go
# net: proxy
# slow: yes
# prints: hello from a module
set -e
PATH=$PATH:/usr/local/go/bin
go build -o out .
./out
