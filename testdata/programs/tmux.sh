#!/bin/sh
# program: tmux
# does: starts a terminal that outlives its caller
# version: tmux -V
# needs: tmux
# ends: denied
# denied: esc_unix_socket AF_UNIX
# why: its server is a socket; nothing outlives a run
# sign: the command itself: output is kept by `sbxcron logs`
tmux new-session -d 'sleep 1'
