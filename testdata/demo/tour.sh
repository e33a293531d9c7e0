#!/bin/bash
# Prints the body of docs/tour.md: commands, and what they printed on this machine.
# usage: tour.sh PATH-OF-SBXCRON   (as root, or as an ordinary user)
set -u

sbx=$(realpath "$1")
base=$(mktemp -d /var/tmp/sbxcron-tour.XXXXXX)
chmod 755 "$base"
cd "$base" || exit 1
daemon=""
trap '[ -n "$daemon" ] && kill "$daemon" 2>/dev/null; wait; rm -rf "$base"' EXIT

# call shows a command and its output, with the folder's name made short.
call() {
  local shown="" arg
  for arg in "$@"; do
    case $arg in *[!a-zA-Z0-9_./:=,@%+-]* | "") arg="'$arg'" ;; esac # none of them has a quote in it
    shown+=" $arg"
  done
  printf '$%s\n' "$shown" | clean
  "$@" 2>&1 | clean | cut -c1-150 | head -n "${lines:-40}"
  local status=${PIPESTATUS[0]}
  [ "$status" = 0 ] || printf '(exit %s)\n' "$status"
}
clean() { sed -e "s|$base|/srv|g" -e "s|$sbx|sbxcron|g"; }
sbxcron() { "$sbx" --root "$base/root" "$@"; }
title() { printf '\n## %s\n\n' "$1"; }
open() { printf '```console\n'; }
close() { printf '```\n'; }
serve() {
  "$sbx" --root "$base/root" daemon >"$base/daemon.log" 2>&1 &
  daemon=$!
  for _ in $(seq 100); do sbxcron status --json 2>/dev/null | grep -q '"service":true' && return; sleep 0.1; done
}
unserve() { kill "$daemon" 2>/dev/null; wait "$daemon"; daemon=""; }

as=()
own() { :; }
if [ "$(id -u)" = 0 ]; then as=(--run-as nobody); own() { chown -R nobody "$@"; }; fi

mkdir -p work/report
cat >work/report/report.sh <<'J'
#!/bin/sh
echo "$(wc -l < app.log) lines, $(grep -c error app.log) errors"
date -u +%A > last-run
J
printf 'ok\nerror: disk\nok\n' >work/report/app.log
chmod 755 work/report/report.sh
own work

title "An installation and a key"
open
call sbxcron init --principal alice --new-key key --no-passphrase "${as[@]}"
close

title "Approving a job"
echo "What is read before signing is made from the very bytes that are signed."
echo
open
call sbxcron add report --schedule '30 2 * * *' --timezone Europe/Berlin --cwd work/report --tier workspace --yes -- ./report.sh
call sbxcron list
call sbxcron next report --from 2026-10-24T00:00:00Z -n 3
close

title "Running it"
serve
open
call sbxcron run report --wait
call sbxcron history report
call sbxcron logs "$(sbxcron history report --json | grep -o 'r-[a-z0-9]*' | head -n 1)"
call sbxcron status
close

title "What changed after the approval does not run"
open
echo '$ echo "rm -rf ~" >> work/report/report.sh'
echo 'rm -rf ~' >>work/report/report.sh
call sbxcron run report --wait
lines=12 call sbxcron history report
close
sed -i '$d' work/report/report.sh

title "Places that no job gets, words that do not exist"
open
lines=6 call sbxcron add bad --schedule @daily --cwd root --tier workspace --yes -- /usr/bin/true
lines=6 call sbxcron add bad --schedule @daily --cwd work/report --tier full --yes -- ./report.sh
lines=6 call sbxcron add bad --schedule @daily --cwd work/report --yes -- su -c ./report.sh
lines=12 call sbxcron add bad --schedule @daily --cwd work/report --yes -- sh -c 'echo hello'
close
unserve

title "Stock OpenSSH checks every approval, and can make one"
open
lines=6 call sbxcron audit export --ops export
line=$(sbxcron audit export --ops export2 2>/dev/null | grep -o 'ssh-keygen.*' | tail -n 1)
line=${line//export2/export}
echo "\$ $line" | clean
eval "$line" 2>&1 | clean
cp root/state/chain.db chain.db.before
call sbxcron plan remove report --out remove.json
call ssh-keygen -Y sign -q -n manage.v1@sbxcron -f key remove.json
call sbxcron apply remove.json remove.json.sig
call sbxcron list
close

title "Evidence for an auditor"
echo "The service signs a checkpoint of the ledger each minute and when it stops. The bundle is"
echo "judged anywhere, by the digest of genesis that init printed."
echo
genesis=$(sbxcron audit export --bundle b.tar 2>/dev/null | grep -o 'sha256:.*')
rm -f b.tar
open
call sbxcron audit export --bundle evidence.tar
call "$sbx" audit verify evidence.tar --genesis "$genesis"
call "$sbx" audit verify evidence.tar
close

title "An older database put back"
echo "The job was removed; the database of before the removal, with its valid signatures, is not"
echo "the one that the pin names. Nothing runs, history reads."
echo
cp chain.db.before root/state/chain.db
serve
open
echo '$ cp chain.db.before root/state/chain.db; sbxcron daemon &'
lines=8 call sbxcron run report --wait
lines=3 call sbxcron history report
lines=8 call sbxcron status
call sbxcron audit verify
close
unserve
