#!/bin/sh
# program: chromium
# does: prints a page, headless, with `--no-sandbox`
# version: chromium-headless-shell --version
# needs: chromium-headless-shell
# slow: yes
# ends: works as signed
# prints: <p>page</p>
# expected: esc_unix_socket AF_UNIX
# expected: sys_denied AF_NETLINK
# why: it looks for D-Bus and watches addresses, and does without. Its pages are no longer kept apart from one another, only from the machine
# sign: both in `denials.expected`
chromium-headless-shell --no-sandbox --dump-dom 'data:text/html,<p>page</p>'
