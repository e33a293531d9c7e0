#!/bin/sh
# program: crontab
# does: plans other work (at, systemctl and systemd-run are the same)
# ends: denied
# denied: esc_scheduler crontab -
# why: work that nobody signed; a stand-in answers
# sign: `sbxcron add`, a job of its own; `sbxcron import-crontab` for a whole table
echo '* * * * * true' | crontab -
