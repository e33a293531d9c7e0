#!/bin/sh
# program: restic
# does: restores files of other accounts
# version: restic version
# needs: restic
# ends: failed
# prints: content arrived
# why: the job's user namespace has no other account, so `lchown` answers EINVAL (not EPERM, which restic overlooks): content arrives, owners do not, exit status 1
# sign: as it is, where the content is enough; check it, and end with a status of your own
export RESTIC_PASSWORD=example-only
restic -q init -r repo
restic -q -r repo backup /usr/bin/true
restic -q -r repo restore latest --target out
status=$?
cmp /usr/bin/true out/usr/bin/true && echo content arrived
exit $status
