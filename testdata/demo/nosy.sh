#!/bin/bash
# Tries to reach the network and to write outside. Each attempt must be stopped.
stopped=0
try() {
  if "$@"; then echo "NOT stopped: $*"; exit 1; fi
  stopped=$((stopped + 1))
}
reach() { (exec 3<>"/dev/tcp/$1/$2") 2>&1; }
write() { (echo x >"$1") 2>&1; }
try reach 127.0.0.1 22
try reach 192.0.2.1 443
try write /usr/bin/sbxcron-was-here
try write "$1"
try write ./here
try cat /etc/shadow
echo "$stopped attempts, all stopped"
exit 1
