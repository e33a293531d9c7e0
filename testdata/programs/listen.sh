#!/bin/sh
# program: servers of its own
# does: listens on the job's own loopback, net none (tests of web programs, `python3 -m http.server`, postgres)
# version: /usr/bin/python3 --version
# needs: python3
# ends: denied
# denied: net_denied_direct AF_INET
# why: without a network there are no internet sockets at all
# sign: nothing yet: tests that need a server run elsewhere; `socketpair` and pipes work
/usr/bin/python3 -c 'import socket; socket.create_server(("127.0.0.1", 0))'
