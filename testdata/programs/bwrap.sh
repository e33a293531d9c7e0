#!/bin/sh
# program: bwrap
# does: makes a sandbox in the sandbox
# version: bwrap --version
# needs: bwrap
# ends: denied
# denied: esc_userns *
# why: no user namespace is left to make. `add` refuses it by name (`cmd_privilege`)
# sign: two jobs of different tiers
bwrap --ro-bind / / true
