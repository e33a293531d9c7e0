#!/bin/sh
# program: mount
# does: mounts a file system; FUSE has no `/dev/fuse` either
# version: mount --version
# needs: mount
# ends: denied
# denied: esc_mount mount *
# why: mounts are made before a job starts, from the spec
# sign: mount outside, name the path in `fs.read` or `fs.write`
mount -t tmpfs none /tmp
