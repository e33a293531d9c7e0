#!/bin/sh
# program: gpgv
# does: verifies a signature against a ring of public keys, without an agent
# version: gpgv --version
# needs: gpgv
# server: ring
# prints: Good signature
gpgv --keyring "$FOLDER/ring" "$FOLDER/text.sig" "$FOLDER/text" 2>&1
