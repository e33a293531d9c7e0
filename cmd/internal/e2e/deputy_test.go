//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// place is a folder that no job gets.
type place struct{ name, path string }

// closed says whether an account of jobs cannot even look into a place.
func (p place) closed(t *testing.T) bool {
	t.Helper()
	info, err := os.Stat(p.path)
	must(t, err)
	return os.Getuid() == 0 && info.Mode().Perm()&0o001 == 0
}

// guardedHouse is a house whose key and program lie in folders of their own, and
// whose policy lets the owner name any path: only the floor is left to refuse.
func guardedHouse(t *testing.T) (*house, []place) {
	t.Helper()
	h := emptyHouse(t)
	h.key = filepath.Join(h.dir, "keys", "key")
	h.exe = filepath.Join(h.dir, "bin", "sbxcron")
	for _, name := range []string{"keys", "bin"} {
		must(t, os.Mkdir(filepath.Join(h.dir, name), 0o755))
	}
	program, err := os.ReadFile(commandLine())
	must(t, err)
	must(t, os.WriteFile(h.exe, program, 0o755))
	h.init()
	must(t, os.Chmod(h.root, 0o755)) // so that it is the floor that refuses, not the mode
	me, err := user.Current()
	must(t, err)
	widen(t, filepath.Join(h.root, "conf", "policy.toml"), fmt.Sprintf("[%q, %q]", h.dir, me.HomeDir))
	return h, []place{
		{"home", me.HomeDir}, {"root", h.root}, {"parent", h.dir},
		{"conf", filepath.Join(h.root, "conf")}, {"state", filepath.Join(h.root, "state")}, {"run", filepath.Join(h.root, "run")},
		{"keys", filepath.Dir(h.key)}, {"bin", filepath.Dir(h.exe)},
	}
}

// widen lets the owner name these folders and what lies below.
func widen(t *testing.T, policy, folders string) {
	t.Helper()
	b, err := os.ReadFile(policy)
	must(t, err)
	text := strings.Replace(string(b), "read = []", "read = "+folders, 1)
	text = strings.Replace(text, "write = []", "write = "+folders, 1)
	must(t, os.WriteFile(policy, []byte(text), 0o600))
	if os.Getuid() == 0 {
		must(t, os.Chmod(policy, 0o644))
	}
}

// refusedToAdd wants an add to be refused with one of these codes for every
// target, and to leave no job.
func (h *house) refusedToAdd(codes []jobspec.Code, targets []string, flags ...string) {
	h.t.Helper()
	args := append([]string{"add", "job", "--schedule", "0 0 1 1 *", "--yes", "--json"}, flags...)
	r := h.run(append(args, "--", "true")...)
	var e api.Error
	lines := strings.Split(strings.TrimSpace(r.err), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &e); err != nil || r.code == 0 {
		h.t.Fatalf("%q: exit %d\n%s%s", flags, r.code, r.out, r.err)
	}
	got := append(e.Reasons, api.Reason{Code: e.ErrCode, Target: strings.Join(targets[:1], "")})
	for _, target := range targets {
		if !slices.ContainsFunc(got, func(x api.Reason) bool { return x.Target == target && slices.Contains(codes, x.Code) }) {
			h.t.Errorf("%q: want %v for %s, refused with %+v", flags[:4], codes, target, got)
		}
	}
}

// addNone tries every place as cwd, to read and to write.
func addNone(h *house, places []place, asCwd, asPath []jobspec.Code) {
	h.t.Helper()
	var all, read, write []string
	for _, p := range places {
		h.refusedToAdd(asCwd, []string{p.path}, "--tier", "read-only", "--cwd", p.path)
		all, read, write = append(all, p.path), append(read, "--read", p.path), append(write, "--write", p.path)
	}
	dir := h.mkdir("plain")
	h.refusedToAdd(asPath, all, append(read, "--tier", "read-only", "--cwd", dir)...)
	h.refusedToAdd(asPath, all, append(write, "--tier", "workspace", "--cwd", dir)...)
}

// floor is what a place itself is refused with: one that the job's account
// cannot reach never comes to be judged.
func floor() []jobspec.Code {
	return []jobspec.Code{jobspec.CodePathSensitive, jobspec.CodePathUnreachable}
}

func TestSensitivePlacesAreRefusedAtAdd(t *testing.T) {
	h, places := guardedHouse(t)
	addNone(h, places, floor(), floor())
	var links []place
	for _, p := range places {
		link := filepath.Join(h.mkdir("links"), p.name)
		must(t, os.Symlink(p.path, link))
		links = append(links, place{p.name, link})
	}
	addNone(h, links, []jobspec.Code{jobspec.CodeDriftCwdSymlink, jobspec.CodePathUnreachable}, []jobspec.Code{jobspec.CodePathUnreachable})
}

func TestBindMountsOfSensitivePlacesAreRefusedAtAdd(t *testing.T) {
	h, places := guardedHouse(t)
	h.ownMounts()
	var open, closed []place
	for _, p := range places {
		at := h.mkdir("mount-" + p.name)
		h.bind(p.path, at)
		if p.closed(t) {
			closed = append(closed, place{p.name, at})
		} else {
			open = append(open, place{p.name, at})
		}
	}
	if len(open) < 4 {
		t.Fatalf("only %v can be reached", open)
	}
	addNone(h, open, []jobspec.Code{jobspec.CodePathSensitive}, []jobspec.Code{jobspec.CodePathSensitive})
	addNone(h, closed, floor(), floor())
}

// ownMounts starts every further program in one private mount namespace.
func (h *house) ownMounts() {
	h.t.Helper()
	if os.Getuid() != 0 {
		h.t.Skip("needs root")
	}
	holder := exec.Command("unshare", "--mount", "--propagation", "private", "sleep", "600")
	must(h.t, holder.Start())
	h.t.Cleanup(func() { _ = holder.Process.Kill(); _ = holder.Wait() })
	pid := strconv.Itoa(holder.Process.Pid)
	mine, err := os.Readlink("/proc/self/ns/mnt")
	must(h.t, err)
	for range 200 {
		if other, err := os.Readlink("/proc/" + pid + "/ns/mnt"); err == nil && other != mine {
			h.wrap = []string{"nsenter", "-t", pid, "-m", "--"}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	h.t.Skip("needs mount namespaces")
}

func (h *house) bind(from, at string) {
	h.t.Helper()
	call := append(slices.Clone(h.wrap), "mount", "--bind", from, at)
	if out, err := exec.Command(call[0], call[1:]...).CombinedOutput(); err != nil {
		h.t.Fatalf("bind %s: %v\n%s", at, err, out)
	}
}

// later approves a job per place whose cwd is plain, and one that reads a plain
// folder.
func later(h *house, places []place) {
	h.t.Helper()
	for _, p := range places {
		h.add("cwd-"+p.name, h.mkdir("cwd-"+p.name), "read-only", "true")
		h.must("add", "read-"+p.name, "--schedule", "0 0 1 1 *", "--yes", "--tier", "read-only",
			"--cwd", h.mkdir("plain"), "--read", h.mkdir("read-"+p.name), "--", "true")
	}
}

func TestSensitivePlacesThatComeLaterAreRefusedAtTheTrigger(t *testing.T) {
	h, places := guardedHouse(t)
	later(h, places)
	h.start()
	for _, p := range places {
		for job, code := range map[string]jobspec.Code{"cwd-" + p.name: jobspec.CodeDriftCwdSymlink, "read-" + p.name: jobspec.CodePathUnreachable} {
			at := filepath.Join(h.work, job)
			h.allowed(job)
			must(t, os.Remove(at))
			must(t, os.Symlink(p.path, at))
			h.refused(job, code)
		}
	}
}

func TestBindMountsThatComeLaterAreRefusedAtTheTrigger(t *testing.T) {
	h, places := guardedHouse(t)
	h.ownMounts()
	later(h, places)
	h.start()
	for _, p := range places {
		for _, job := range []string{"cwd-" + p.name, "read-" + p.name} {
			h.allowed(job)
			code := jobspec.CodePathSensitive
			if p.closed(t) {
				code = jobspec.CodePathUnreachable
			}
			h.bind(p.path, filepath.Join(h.work, job))
			h.refused(job, code)
		}
	}
}

// TestAKeyThatIsMovedIntoAWorkspaceIsRefused: the folder of the key takes the
// place of an approved one.
func TestAKeyThatIsMovedIntoAWorkspaceIsRefused(t *testing.T) {
	h, _ := guardedHouse(t)
	dir := h.mkdir("ws")
	h.add("job", dir, "workspace", "true")
	h.start()
	h.allowed("job")
	must(t, os.Remove(dir))
	must(t, os.Rename(filepath.Dir(h.key), dir))
	h.own(dir)
	must(t, os.WriteFile(filepath.Join(h.root, "conf", "key"), []byte(filepath.Join(dir, "key")+"\n"), 0o600))
	h.refused("job", jobspec.CodePathSensitive)
}

// routes is a job that tries to read and to change what belongs to sbxcron. It
// prints a line for everything that it gets hold of.
const routes = `
root=$1
each() {
  for base in "$root" "../../root" "/proc/1/root$root" "/proc/self/root$root" "/proc/$PPID/root$root"; do
    for f in conf/allowed_signers conf/revoked_keys conf/policy.toml conf/pin conf/host conf/key conf/audit_key state/chain.db state/lock run/socket; do
      "$1" "$base/$f"
    done
  done
}
reach() {
  cat "$1" >/dev/null 2>&1 && echo "read $1"
  (echo x >>"$1") 2>/dev/null && echo "wrote $1"
  ln -f "$1" linked 2>/dev/null && echo "linked $1"
}
take() { mv "$1" taken 2>/dev/null && echo "moved $1"; }
each reach
each take
cat "$root/../keys/key" ../../keys/key 2>/dev/null && echo "read the key"
for fd in /proc/self/fd/* /proc/1/fd/*; do
  case $(readlink "$fd") in *"$root"*) echo "descriptor $fd";; esac
  cat "$fd/conf/pin" 2>/dev/null && echo "through $fd"
done
find "$2" \( -name allowed_signers -o -name chain.db -o -name audit_key -o -name revoked_keys -o -name '*.jsonl' \) 2>/dev/null
grep -l "$root" /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | grep -v "/proc/\($$\|self\)/" | while read -r f; do
  tr '\0' ' ' <"$f" | grep -q daemon && echo "sees the service: $f"
done 2>/dev/null
# The pipe that attempts are told through is a file of RUN whose name is gone.
grep "$root" /proc/self/mountinfo | grep -v "/run/events/[0-9a-f]*//deleted /.sbxcron/events ro," | sed 's/^/mounted: /'
echo done`

func TestAWorkspaceBesideTheRootFindsNoWayIn(t *testing.T) {
	h, _ := guardedHouse(t)
	dir := h.script("ws", routes)
	h.must("add", "job", "--schedule", "0 0 1 1 *", "--yes", "--tier", "workspace", "--cwd", dir, "--", "./job.sh", h.root, "/")
	h.start()
	h.routesFindADecoy(dir)
	before := h.digests()
	r := h.trigger("job")
	if out := h.must("logs", r.Run, "--stream", "out"); r.Outcome != "succeeded" || out != "done\n" {
		t.Errorf("%s: the job got hold of:\n%s", r.Outcome, out)
	}
	if after := h.digests(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// routesFindADecoy shows that the job would tell: outside of the sandbox, beside
// a folder that is laid out like the root, it finds everything.
func (h *house) routesFindADecoy(dir string) {
	h.t.Helper()
	decoy := filepath.Join(h.dir, "decoy")
	for _, name := range []string{"root/conf", "root/state", "keys", "work/ws"} {
		must(h.t, os.MkdirAll(filepath.Join(decoy, name), 0o755))
	}
	for _, name := range []string{"root/conf/pin", "root/state/chain.db", "root/state/1.jsonl", "keys/key"} {
		must(h.t, os.WriteFile(filepath.Join(decoy, name), nil, 0o644))
	}
	cmd := exec.Command("sh", filepath.Join(dir, "job.sh"), filepath.Join(decoy, "root"), decoy)
	cmd.Dir = filepath.Join(decoy, "work", "ws")
	out, err := cmd.Output()
	must(h.t, err)
	for _, want := range []string{"read " + decoy, "wrote ", "linked ", "moved ", "read ../../root", "read the key", "/1.jsonl\n"} {
		if !strings.Contains(string(out), want) {
			h.t.Fatalf("the routes say nothing of %q:\n%s", want, out)
		}
	}
}

// digests are those of everything in CONF, of the chain and of the key.
func (h *house) digests() string {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(h.root, "conf", "*"))
	must(h.t, err)
	var all []string
	for _, name := range append(files, filepath.Join(h.root, "state", "chain.db"), h.key) {
		b, err := os.ReadFile(name)
		must(h.t, err)
		info, err := os.Stat(name)
		must(h.t, err)
		st := info.Sys().(*syscall.Stat_t)
		all = append(all, strings.Join([]string{name, jobspec.DigestOf(b).String(), info.Mode().String(), strconv.FormatUint(st.Ino, 10), strconv.FormatUint(uint64(st.Nlink), 10)}, " "))
	}
	return strings.Join(all, "\n")
}
