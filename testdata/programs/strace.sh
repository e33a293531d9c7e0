#!/bin/sh
# program: strace
# does: traces a program (gdb is the same)
# version: strace --version
# needs: strace
# ends: denied
# denied: esc_ptrace *
# why: ptrace rewrites what other processes do
# sign: nothing: debug outside, with `sbxcron try` for what a job is denied
strace true
