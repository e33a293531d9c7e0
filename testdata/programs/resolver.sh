#!/bin/sh
# program: resolvers of their own
# does: asks a name server by UDP, as `dig` does
# version: /usr/bin/python3 --version
# needs: python3
# ends: denied
# denied: net_denied_direct AF_INET
# why: names are resolved by the proxy, for hosts of `net.allow`
# sign: net proxy, and a program that uses it: `curl` or `git` need no resolver then
/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)'
