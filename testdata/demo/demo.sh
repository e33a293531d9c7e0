#!/bin/sh
# Shows the main job running: an owner approves three jobs, the service runs
# each at its own minute in the sandbox, the auditor looks at what happened.
# usage: demo.sh PATH-OF-SBXCRON
set -eu

sbx=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
demo=$(mktemp -d /var/tmp/sbxcron-demo.XXXXXX)
root=$demo/root
work=$demo/work
daemon=""
begun=$(date +%s)
lap=$begun

finish() {
  status=$?
  if [ -n "$daemon" ]; then
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
  fi
  rm -rf "$demo"
  exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

say() { printf '\n== %s\n' "$1"; }
took() {
  now=$(date +%s)
  printf -- '-- %s took %d s\n' "$1" $((now - lap))
  lap=$now
}
# show prints a command as one would type it, then runs it.
show() {
  shown=""
  for arg in "$@"; do
    case $arg in *[!a-zA-Z0-9_./:=,@%+-]* | "") arg="'$arg'" ;; esac # none of them has a quote in it
    shown="$shown $arg"
  done
  printf '$ sbxcron%s\n' "$shown"
  "$sbx" --root "$root" "$@"
}

# The job's files. As root the jobs run as "nobody", who owns the workspace.
mkdir -p "$work/backup/data" "$work/logs" "$work/nosy"
cp "$here/backup.sh" "$work/backup/"
cp "$here/report.sh" "$work/logs/"
cp "$here/nosy.sh" "$work/nosy/"
chmod 755 "$work"/*/*.sh
for n in 1 2 3 4 5; do
  head -c 20000 /dev/urandom >"$work/backup/data/file$n"
  printf '%s host app: ok\n%s host app: error %s\n' "$n" "$n" "$n" >"$work/logs/app.$n.log"
done
secret=$demo/secret
echo untouched >"$secret"
as=""
if [ "$(id -u)" = 0 ]; then
  chmod 755 "$demo"
  chown -R nobody "$work"
  as="--run-as nobody"
fi

say "1. the owner makes a root folder and a key"
# shellcheck disable=SC2086
show init --principal owner --new-key "$demo/owner_key" --no-passphrase $as
took "init"

say "2. the owner approves three jobs: read in words, signed once"
show add backup --schedule '* * * * *' --cwd "$work/backup" --tier workspace --key "$demo/owner_key" --yes -- ./backup.sh
show add report --schedule '* * * * *' --cwd "$work/logs" --tier read-only --key "$demo/owner_key" --yes -- ./report.sh
show add nosy --schedule '* * * * *' --cwd "$work/nosy" --tier read-only --key "$demo/owner_key" --yes -- ./nosy.sh "$secret"
show list
show next
took "approving"

say "3. the service runs each at its minute"
"$sbx" --root "$root" daemon >"$demo/daemon.log" 2>&1 &
daemon=$!
tries=0
for job in backup report nosy; do
  until "$sbx" --root "$root" history "$job" --json 2>/dev/null | grep -q '"ended_at"'; do
    tries=$((tries + 1))
    if [ "$tries" -gt 200 ] || ! kill -0 "$daemon" 2>/dev/null; then
      echo "demo: $job did not run" >&2
      cat "$demo/daemon.log" >&2
      "$sbx" --root "$root" history >&2 || true
      exit 1
    fi
    sleep 0.5
  done
done
took "waiting for the minute and running"

say "4. what happened"
show history
for job in backup report nosy; do
  run=$("$sbx" --root "$root" history "$job" --json | grep -o '"run":"[^"]*"' | tail -n 1 | cut -d'"' -f4)
  printf '\n$ sbxcron logs %s   (%s)\n' "$run" "$job"
  "$sbx" --root "$root" logs "$run"
done

# The three runs came from the schedule, and on time.
for job in backup report nosy; do
  row=$("$sbx" --root "$root" history "$job" --json | tr '{' '\n' | grep '"ended_at"' | tail -n 1)
  case $row in *'"trigger":"schedule"'*) ;; *) echo "demo: $job was not started by its schedule: $row" >&2; exit 1 ;; esac
  field() { printf '%s' "$row" | grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d'"' -f4; }
  late=$(($(date -d "$(field started_at)" +%s%3N) - $(date -d "$(field scheduled_for)" +%s%3N)))
  echo "$job: started $late ms after its slot"
  [ "$late" -ge 0 ] && [ "$late" -lt 2000 ] || { echo "demo: $job was late" >&2; exit 1; }
done
[ "$(cat "$secret")" = untouched ] || { echo "demo: the job wrote outside" >&2; exit 1; }
[ -s "$work/backup/backup.tar.gz" ] || { echo "demo: no backup was written" >&2; exit 1; }
took "checking"

say "5. the third job tried more than it may: why it could not"
show explain "$run" | sed '/^decision/q'

say "6. the auditor"
show audit verify || [ $? = 3 ]
kill "$daemon"
wait "$daemon" || true
daemon=""
took "audit and stop"
printf '\ndemo: done in %d s; nothing is left running\n' $(($(date +%s) - begun))
