#!/bin/sh
# Makes a small installation with a history and asks it what auditors ask; its output
# stands in docs/audit.md. Digests and times differ from run to run.
# usage: questions.sh PATH-OF-SBXCRON
set -eu

sbx=$(realpath "$1")
dir=$(mktemp -d /tmp/sbxcron-questions.XXXXXX)
daemon=""
finish() {
  status=$?
  if [ -n "$daemon" ]; then
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
  fi
  rm -rf "$dir"
  exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM
cd "$dir"

s() { "$sbx" --root "$dir/root" "$@"; }
ask() { printf '\n$ sbxcron %s\n' "$*"; s "$@" 2>&1 || echo "(exit status $?)"; }

ssh-keygen -q -t ed25519 -N '' -C alice -f key
genesis=$(s init --principal alice --key "$dir/key" 2>/dev/null | awk '$1 == "genesis" { print $2 }')
start() {
  s daemon >>daemon.log 2>&1 &
  daemon=$!
  until [ -s root/conf/checkpoint ] && s status >/dev/null 2>&1; do sleep 0.1; done
}
stop() {
  kill "$daemon" && wait "$daemon" || true
  daemon=""
}

start
s add nightly --schedule "30 2 * * *" --yes -- /bin/true >/dev/null 2>&1
s add reader --schedule "45 2 * * *" --yes -- /usr/bin/wc -c /etc/hostname >/dev/null 2>&1
run=$(s run nightly --wait 2>/dev/null)
s hold reader --reason "looks odd" >/dev/null 2>&1
s run reader --wait >/dev/null 2>&1 || true
until [ "$(sed -n 2p root/conf/checkpoint)" -gt 8 ]; do sleep 0.5; done # one is made each minute
stop
s audit export --bundle evidence.tar >/dev/null 2>&1

ask audit report --since 1d evidence.tar
ask audit verify evidence.tar --genesis "$genesis"
printf '\n$ sbxcron audit prove %s > proof.json\n' "$run"
s audit prove "$run" >proof.json
ask audit check proof.json --signers root/conf/allowed_signers --checkpoint root/conf/checkpoint
ask trust list
