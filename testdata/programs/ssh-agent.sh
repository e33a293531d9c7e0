#!/bin/sh
# program: ssh-agent
# does: keeps keys for other programs
# version: ssh -V 2>&1
# needs: ssh-agent ssh-add
# ends: denied
# denied: esc_unix_socket AF_UNIX
# why: an agent is a socket, and one of the host would sign for its owner
# sign: the key as a credential, as in `ssh-key`
eval "$(ssh-agent -s)"
ssh-add -l
