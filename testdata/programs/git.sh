#!/bin/sh
# program: git
# does: commits, fetches, clones and pushes over https, with a credential at `~/.git-credentials`, `fs.git = "commit"` and `net.allow`
# version: git --version
# needs: git
# server: git
# net: proxy
# prints: two
set -e
export GIT_AUTHOR_NAME=job GIT_AUTHOR_EMAIL=job@example.org GIT_COMMITTER_NAME=job GIT_COMMITTER_EMAIL=job@example.org
git="git -c credential.helper=store"
$git fetch -q origin
echo two >file
git add file
git commit -q -m two
$git push -q origin main
$git clone -q "https://$HOST/r.git" ~/copy
git -C ~/copy log -1 --format=%s
