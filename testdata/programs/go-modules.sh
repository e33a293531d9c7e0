#!/bin/sh
# program: go
# does: takes modules from a GOPROXY; go never asks a proxy for localhost, so one on this machine is named in `net.forward`
# version: /usr/local/go/bin/go version
# needs: go
# server: go
# net: proxy
# prints: hello from a module
set -e
PATH=$PATH:/usr/local/go/bin
go mod download m.test/greeter
cat "$(go env GOMODCACHE)/m.test/greeter@v1.0.0/g.go"
