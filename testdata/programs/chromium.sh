#!/bin/sh
# program: chromium
# does: prints a page, headless, in its own sandbox
# version: chromium-headless-shell --version
# needs: chromium-headless-shell
# slow: yes
# ends: denied
# denied: esc_userns *
# denied?: esc_unix_socket AF_UNIX
# denied?: sys_denied AF_NETLINK
# why: its sandbox needs a user namespace or a set-uid helper, and it refuses to start without
# sign: `--no-sandbox`, as in `chromium-alone`: ours stays
chromium-headless-shell --dump-dom 'data:text/html,<p>page</p>'
