#!/bin/sh
# program: ping
# does: asks whether a host answers
# version: ping -V
# needs: ping
# ends: denied
# denied: net_denied_direct AF_INET
# denied?: net_denied_direct AF_INET6
# denied?: esc_setuid_inert /usr/bin/ping
# denied?: esc_setuid_inert /bin/ping
# why: ICMP sockets exist for no job, and its capability is inert
# sign: `curl --head` to a host of `net.allow`
ping -c 1 -W 1 127.0.0.1
