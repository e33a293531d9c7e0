#!/bin/sh
# program: gpg
# does: makes and uses secret keys
# version: gpg --version
# needs: gpg gpg-agent
# ends: denied
# denied: esc_unix_socket AF_UNIX
# denied?: ask_pinentry *
# why: gpg 2 does nothing with secret keys without its agent, which is a socket
# sign: `ssh-keygen -Y sign` with a credential, as in `ssh-key`; `gpgv` verifies without an agent
gpg --batch --passphrase '' --quick-generate-key job@example.org
