#!/bin/sh
# program: sudo
# does: becomes root
# ends: denied
# denied: esc_sudo sudo -n true
# why: a stand-in answers for sudo, su, doas, pkexec, run0; set-id bits are inert. `add` refuses it by name (`cmd_privilege`)
# sign: an account that may do the work, as `run_as`
sudo -n true
