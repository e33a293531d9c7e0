#!/bin/sh
# program: ssh-keygen, ssh
# does: signs with a key that is a credential at `~/.ssh/id_ed25519`, without an agent
# version: ssh -V 2>&1
# needs: ssh-keygen
# server: key
# prints: -----END SSH SIGNATURE-----
set -e
echo data >data
ssh-keygen -q -Y sign -n file -f ~/.ssh/id_ed25519 data
cat data.sig
