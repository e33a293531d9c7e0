#!/bin/sh
# program: docker
# does: lists containers
# version: docker --version
# needs: docker
# ends: denied
# denied: esc_unix_socket AF_UNIX
# why: whoever reaches that socket is root of the machine
# sign: nothing: its socket cannot be named in `net.sockets`. Run what the container would run as the job
docker ps
