//go:build linux

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
)

// policyFault is one way in which policy.toml cannot be relied on. Spoil makes
// it and returns what takes it back.
type policyFault struct {
	name  string
	code  string
	spoil func(h *house, path string) error
}

func rewrite(edit func(text string) string) func(*house, string) error {
	return func(h *house, path string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(edit(string(text))), 0)
	}
}

func policyFaults() []policyFault {
	return []policyFault{
		{"missing", "policy_missing", func(_ *house, p string) error { return os.Remove(p) }},
		{"mode", "policy_perms", func(_ *house, p string) error { return os.Chmod(p, 0o666) }},
		{"owner", "policy_perms", func(h *house, p string) error {
			if os.Getuid() != 0 {
				h.t.Skip("needs root, to give the file away")
			}
			return os.Chown(p, jobUID, jobUID)
		}},
		{"parent mode", "policy_perms", func(_ *house, p string) error {
			d := filepath.Join(filepath.Dir(p), "policy.d")
			file := filepath.Join(d, "10-site.toml")
			return errors.Join(os.Mkdir(d, 0o755), os.WriteFile(file, []byte("serial = 1\n"), 0o600), os.Chmod(d, 0o777))
		}},
		{"symlink", "policy_perms", func(_ *house, p string) error { return errors.Join(os.Rename(p, p+".real"), os.Symlink(p+".real", p)) }},
		{"parse", "policy_parse", rewrite(func(s string) string { return s + "\nx =\n" })},
		{"unknown key", "policy_schema", rewrite(func(s string) string { return "sandbox = \"off\"\n" + s })},
		{"self-test", "policy_selftest", rewrite(func(s string) string {
			return s + "\n[[rules]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"w\"\nname = \"git\"\nmatch = [[\"ls\"]]\n"
		})},
		{"serial back", "policy_rollback", rewrite(func(s string) string { return strings.Replace(s, "serial = 2 ", "serial = 1 ", 1) })},
		{"folder", "policy_perms", func(_ *house, p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }},
		{"FIFO", "policy_perms", func(_ *house, p string) error { return errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o600)) }},
		{"a further file that nobody can read as policy", "policy_schema", func(_ *house, p string) error {
			d := filepath.Join(filepath.Dir(p), "policy.d")
			return errors.Join(os.Mkdir(d, 0o755), os.WriteFile(filepath.Join(d, "10-site.toml"), []byte("serial = 1\nnonsense = 1\n"), 0o600))
		}},
	}
}

// Each fault refuses what adds and what is due, by its own code and at once, also
// where the same policy was good a moment before; what only reads goes on, and a
// job can still be stopped. When the fault is gone the job runs as it was signed.
func TestEachFaultOfThePolicyRefusesAddAndTrigger(t *testing.T) {
	for _, f := range policyFaults() {
		t.Run(f.name, func(t *testing.T) {
			h := newHouse(t)
			path := h.root + "/conf/policy.toml"
			raised := rewrite(func(s string) string { return strings.Replace(s, "serial = 1 ", "serial = 2 ", 1) })
			if err := raised(h, path); err != nil {
				t.Fatal(err)
			}
			dir := h.script("ws", "true")
			h.add("j", dir, "workspace", "./job.sh")
			s := h.start()
			h.must("run", "j", "--wait")
			good, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.spoil(h, path); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			h.refusesAll(f.code, dir)
			h.stillReads(f.code)
			h.must("disable", "j", "--yes")
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v: something waited", took)
			}
			h.repair(path, good)
			h.must("enable", "j", "--yes")
			h.must("run", "j", "--wait")
			s.stop()
			if r := h.run("audit", "verify"); r.code != 0 {
				t.Errorf("audit verify: exit %d\n%s", r.code, r.out)
			}
		})
	}
}

func (h *house) refusesAll(code, dir string) {
	h.t.Helper()
	added := h.run("add", "k", "--schedule", "@daily", "--tier", "workspace", "--cwd", dir, "--yes", "--", "./job.sh")
	if added.code != 78 || !strings.Contains(added.err, "("+code+")") || !strings.Contains(added.err, "hint: ") {
		h.t.Errorf("add: exit %d, want 78 and %s\n%s", added.code, code, added.err)
	}
	if r := h.run("run", "j", "--wait"); r.code != 125 || !strings.Contains(r.err, code) {
		h.t.Errorf("run --wait: exit %d, want 125 and %s\n%s", r.code, code, r.err)
	}
	runs := items[api.Run](h, "history", "j")
	if len(runs) != 2 || runs[0].Outcome != "refused" || string(runs[0].Reasons[0].Code) != code {
		h.t.Errorf("history: %+v", runs)
	}
}

func (h *house) stillReads(code string) {
	h.t.Helper()
	for _, args := range [][]string{{"list"}, {"show", "j"}, {"next", "j"}, {"history"}, {"explain", "j"}, {"logs", items[api.Run](h, "history", "j")[1].Run}} {
		if r := h.run(args...); r.code != 0 {
			h.t.Errorf("%q: exit %d\n%s", args, r.code, r.err)
		}
	}
	if x := item[api.Explanation](h, "explain", "j"); x.Decision != "refuse" || !strings.Contains(explained(x), code) {
		h.t.Errorf("explain: %s", explained(x))
	}
	for _, args := range [][]string{{"status"}, {"policy", "check"}} {
		if r := h.run(args...); r.code != 3 || !strings.Contains(r.out+r.err, code) {
			h.t.Errorf("%q: exit %d, want 3 and %s\n%s%s", args, r.code, code, r.out, r.err)
		}
	}
}

func explained(x api.Explanation) string {
	var all []string
	for _, c := range x.Checks {
		if c.Code != "" {
			all = append(all, string(c.Code))
		}
	}
	return strings.Join(all, " ")
}

// repair puts the policy back as it was, whatever stands in its place.
func (h *house) repair(path string, good []byte) {
	h.t.Helper()
	conf := filepath.Dir(path)
	mode := os.FileMode(0o700)
	if os.Getuid() == 0 {
		mode = 0o755
	}
	err := errors.Join(os.Chmod(conf, mode), os.RemoveAll(path), os.RemoveAll(filepath.Join(conf, "policy.d")), os.RemoveAll(path+".real"),
		os.WriteFile(path, good, 0o600), os.Chmod(path, 0o644))
	if err != nil {
		h.t.Fatal(err)
	}
}

// A job that was signed under a loose policy is refused once it is tightened and
// runs again when it is loosened, without a new signature, and the replay says so
// before. A fault in the owner's own file refuses the owner's jobs.
func TestTighteningAndLooseningNeedNoNewSignature(t *testing.T) {
	h := newHouse(t)
	path := h.root + "/conf/policy.toml"
	h.add("j", h.script("ws", "true"), "workspace", "./job.sh")
	shown := item[api.JobDetail](h, "show", "j")
	h.start()
	h.must("run", "j", "--wait")
	draft := filepath.Join(h.dir, "draft")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tight := strings.Replace(strings.Replace(string(text), "serial = 1 ", "serial = 2 ", 1), "max_tier = \"workspace\"", "max_tier = \"read-only\"", 1)
	if err := errors.Join(os.Mkdir(draft, 0o755), os.WriteFile(filepath.Join(draft, "policy.toml"), []byte(tight), 0o644)); err != nil {
		t.Fatal(err)
	}
	if r := h.run("policy", "check", draft); r.code != 0 {
		t.Errorf("check: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := h.run("policy", "check", "--replay", "--policy", draft); r.code != 3 || !strings.Contains(r.out, "tier_over_ceiling") || strings.Count(r.out, "refuse") < 2 {
		t.Errorf("replay: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := h.run("policy", "check", "--replay"); r.code != 0 {
		t.Errorf("replay of the policy in force: exit %d\n%s%s", r.code, r.out, r.err)
	}
	put := func(name, text string) {
		t.Helper()
		full := filepath.Join(h.root, "conf", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(code string) {
		t.Helper()
		if r := h.run("run", "j", "--wait"); r.code != 125 || !strings.Contains(r.err, code) {
			t.Errorf("exit %d, want 125 and %s\n%s", r.code, code, r.err)
		}
	}
	put("policy.toml", tight)
	refused("tier_over_ceiling")
	put("policy.toml", strings.Replace(string(text), "serial = 1 ", "serial = 3 ", 1))
	h.must("run", "j", "--wait")
	put("owner.d/alice.toml", "[principals.alice]\nmax_tier = \"scratch\"\n")
	refused("tier_over_ceiling")
	put("owner.d/alice.toml", "[principals.alice]\nmax_tear = \"scratch\"\n")
	refused("policy_schema")
	if r := h.run("doctor"); r.code != 3 || !strings.Contains(r.out, "max_tear") {
		t.Errorf("doctor: exit %d\n%s", r.code, r.out)
	}
	put("owner.d/alice.toml", "[[rules]]\nid = \"mine\"\neffect = \"deny\"\nwhy = \"not today\"\nname = \"job.sh\"\n")
	refused("cmd_denied_rule")
	put("owner.d/alice.toml", "[[rules]]\nid = \"mine\"\neffect = \"allow\"\nwhy = \"fine\"\nname = \"job.sh\"\n")
	h.must("run", "j", "--wait")
	put("policy.d/10-site.toml", "serial = 1\n[managed_only]\ncommands = true\n")
	refused("cmd_not_allowed")
	if err := os.Remove(filepath.Join(h.root, "conf/policy.d/10-site.toml")); err != nil {
		t.Fatal(err)
	}
	refused("policy_rollback")
	put("policy.toml", strings.Replace(string(text), "serial = 1 ", "serial = 5 ", 1))
	h.must("run", "j", "--wait")
	if after := item[api.JobDetail](h, "show", "j"); after.Hash != shown.Hash || !after.Verified {
		t.Errorf("the op changed: %s, %s", shown.Hash, after.Hash)
	}
}

// Where others can write CONF itself, nothing in it is relied on: the pin and the
// trust files are refused before the policy is looked at.
func TestAConfThatOthersWriteRefusesAddAndTrigger(t *testing.T) {
	h := newHouse(t)
	dir := h.script("ws", "true")
	h.add("j", dir, "workspace", "./job.sh")
	h.start()
	if err := os.Chmod(h.root+"/conf", 0o777); err != nil {
		t.Fatal(err)
	}
	if r := h.run("add", "k", "--schedule", "@daily", "--tier", "workspace", "--cwd", dir, "--yes", "--", "./job.sh"); r.code != 78 || !strings.Contains(r.err, "store_perms") {
		t.Errorf("add: exit %d\n%s", r.code, r.err)
	}
	if r := h.run("run", "j", "--wait"); r.code != 125 || !strings.Contains(r.err, "trust_refused") {
		t.Errorf("run: exit %d\n%s", r.code, r.err)
	}
	for _, args := range [][]string{{"list"}, {"show", "j"}, {"history"}} {
		if r := h.run(args...); r.code != 0 {
			t.Errorf("%q: exit %d\n%s", args, r.code, r.err)
		}
	}
	if r := h.run("policy", "check"); r.code != 3 || !strings.Contains(r.out, "policy_perms") {
		t.Errorf("policy check: exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// A run starts inside a window only; explain speaks of the next slot, which may
// lie in one when now does not.
func TestAWindowRefusesTheRunAndNotTheExplanationOfTheNextSlot(t *testing.T) {
	h := newHouse(t)
	path := h.root + "/conf/policy.toml"
	h.must("add", "j", "--schedule", "0 0 1 1 *", "--timezone", "UTC", "--cwd", h.script("ws", "true"), "--tier", "workspace", "--yes", "--", "./job.sh")
	now := time.Now().UTC()
	away := now.Add(6*time.Hour).Format("15:04") + "-" + now.Add(7*time.Hour).Format("15:04")
	windows := func(list string) {
		t.Helper()
		add := rewrite(func(s string) string { return strings.Replace(s, "max_ttl =", "windows = "+list+"\nmax_ttl =", 1) })
		if err := add(h, path); err != nil {
			t.Fatal(err)
		}
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h.start()
	windows(`["00:00-00:01", "` + away + `"]`)
	if now.Hour() != 0 || now.Minute() > 1 {
		if r := h.run("run", "j", "--wait"); r.code != 125 || !strings.Contains(r.err, "window_closed") {
			t.Errorf("outside: exit %d\n%s", r.code, r.err)
		}
	}
	if x := item[api.Explanation](h, "explain", "j"); x.Decision != "allow" {
		t.Errorf("the next slot lies in a window, and %s", explained(x))
	}
	h.repair(path, good)
	windows(`["12:00-13:00"]`)
	if x := item[api.Explanation](h, "explain", "j"); x.Decision != "refuse" || !strings.Contains(explained(x), "window_closed") {
		t.Errorf("the next slot lies in none, and %s", explained(x))
	}
	h.repair(path, good)
	h.must("run", "j", "--wait")
}
