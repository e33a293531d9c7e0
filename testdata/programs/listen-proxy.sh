#!/bin/sh
# program: servers of its own
# does: listens on the job's own loopback, net proxy
# version: /usr/bin/python3 --version
# needs: python3
# net: proxy
# ends: failed
# prints: PermissionError: [Errno 13] Permission denied
# why: Landlock lets a job connect to the proxy and its forwards, and bind nothing; it tells nobody, so no event stands in the record
# sign: nothing yet, as in `listen`
/usr/bin/python3 -c 'import socket; socket.create_server(("127.0.0.1", 0))'
