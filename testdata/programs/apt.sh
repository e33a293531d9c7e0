#!/bin/sh
# program: apt
# does: installs packages
# version: apt-get --version
# needs: apt-get
# ends: failed
# prints: E: List directory /var/lib/apt/lists/partial is missing.
# why: /var and /etc/apt are not shown, /usr is read-only
# sign: packages installed before; `pip --target`, `npm ci`, `go build` into the workspace
apt-get update
