#!/bin/sh
# program: unshare
# does: becomes root of a namespace of its own (rootless build tools, fakeroot by namespaces)
# version: unshare --version
# needs: unshare
# ends: denied
# denied: esc_userns *
# why: no user namespace is left to make
# sign: `tar --owner=0 --group=0` for archives; images are built outside
unshare --map-root-user true
