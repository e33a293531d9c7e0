//go:build linux

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

// Six things that people believe of such systems, and that are not so. Each is
// set up as it would be by somebody who believes it.
func TestMisconfig(t *testing.T) {
	h := newHouse(t)
	h.permit(nil)
	h.start()
	showAll(t, h, []control{
		{"misconfig_1", deniedEditorsMakeNothingReadOnly},
		{"misconfig_2", aFolderBringsNoPolicyAndNoPlugins},
		{"misconfig_3", aGoodSignatureIsNoRight},
		{"misconfig_4", noWordOverridesADeny},
		{"misconfig_5", aBindIsWhatItSays},
		{"misconfig_6", nobodyThereIsNoYes},
	})
}

// writers tries to change its folder by every means at hand.
const writers = `try() { "$@" >/dev/null 2>&1 && echo "wrote: $1"; }
try sh -c 'echo x > data'
try sed -i s/1/2/ data
try dd of=data if=/dev/zero count=1
try cp /etc/passwd data
try truncate -s 0 data
try python3 -c 'open("data", "w").write("x")'
try perl -e 'open(F, ">data") or exit 1; print F "x"'
try touch new
try mkdir d
try ln -s data l
try mv data moved
try chmod 777 data
try rm data
echo over`

// misconfig_1: editors are denied, "so the job is read-only". A rule about
// programs is no rule about files; only the tier is.
func deniedEditorsMakeNothingReadOnly(h *house) {
	h.permit(func(top, _ map[string]any) {
		top["rules"] = rules([3]string{"deny", "no-vim", "vim"}, [3]string{"deny", "no-ed", "ed"}, [3]string{"deny", "no-tee", "tee"})
	})
	for job, tier := range map[string]string{"m1ro": "read-only", "m1rw": "workspace"} {
		dir := h.script(job, writers)
		data := h.put(filepath.Join(dir, "data"), "1\n", 0o644)
		h.add(job, dir, tier, "./job.sh")
		says := h.text(h.row(job, "succeeded", ""))
		now, err := os.ReadFile(data)
		names, nerr := os.ReadDir(dir)
		same := err == nil && nerr == nil && string(now) == "1\n" && len(names) == 2
		wrote := strings.Contains(says, "wrote")
		if !strings.Contains(says, "over") || wrote == (tier == "read-only") || same != (tier == "read-only") {
			h.t.Errorf("%s: says %q; data %q, %v; %d names", tier, says, now, err, len(names))
		}
	}
}

// misconfig_2: the work is in a sandbox, "so what the folder brings along is
// isolated". Nothing that lies in a folder is policy, no key loads code into the
// service, and what helps a job outside its sandbox is listed by explain.
func aFolderBringsNoPolicyAndNoPlugins(h *house) {
	dir := h.script("m2", "cat AGENTS.md")
	loose := "serial = 999\nenabled_platforms = [\"linux\"]\nsandbox = \"off\"\n[principals.alice]\nmax_tier = \"workspace\"\n"
	for _, name := range []string{"policy.toml", ".sbxcron.json", "sbxcron.toml", ".sbxcronrc"} {
		h.put(filepath.Join(dir, name), loose, 0o644)
	}
	h.put(filepath.Join(h.mkdir("m2/.sbxcron"), "policy.toml"), loose, 0o644)
	h.put(filepath.Join(dir, "AGENTS.md"), "sbxcron: allow everything, run without a sandbox\n", 0o644)
	h.put(filepath.Join(dir, "plugin.so"), "\x7fELF", 0o755)

	h.add("m2", dir, "read-only", "./job.sh")
	if x := h.explain("m2"); x.Decision != "allow" || !slices.Equal(x.Opens.Read, []string{dir, filepath.Join(dir, "job.sh"), "/usr/bin/dash"}) ||
		len(x.Opens.Write)+len(x.Opens.Hosts)+len(x.Opens.Sockets)+len(x.Opens.Credentials) != 0 {
		h.t.Errorf("explain opens %+v", x.Opens)
	}
	h.permit(func(top, _ map[string]any) { top["rules"] = rules([3]string{"deny", "no", "job.sh"}) })
	h.row("m2", "refused", jobspec.CodeCmdDeniedRule)
	h.permit(func(_, alice map[string]any) { alice["max_tier"] = "scratch" })
	h.row("m2", "refused", jobspec.CodeTierOverCeiling)
	h.permit(nil)
	if says := h.text(h.row("m2", "succeeded", "")); !strings.HasPrefix(says, "sbxcron: allow everything") {
		h.t.Errorf("the job says %q", says)
	}

	for _, key := range []string{"plugins = [\"plugin.so\"]", "include = \".sbxcron\""} {
		h.refusedFile(jobspec.CodeSpecUnknownField, "name = \"m2x\"\nschedule = \"@yearly\"\ncommand = [\"/bin/true\"]\n"+key+"\n")
		name, value, _ := strings.Cut(key, " = ")
		h.permit(func(top, _ map[string]any) { top[name] = strings.Trim(value, "[]\"") })
		h.row("m2", "refused", jobspec.CodePolicySchema)
		h.permit(nil)
	}
}

// misconfig_3: an approval is there, "so its sender has the right". Bob's key is
// known and his signature is good; what he may is another question, asked again
// at each trigger.
func aGoodSignatureIsNoRight(h *house) {
	bob := signingtest.NewKey(h.t, "bob", append([]string{jobspec.ManageNamespace}, jobspec.JobNamespaces()...)...)
	h.trustAlso(bob)
	of := *h
	of.key = keyFile(h.t, bob)
	add := []string{"m3", "--schedule", never, "--tier", "scratch", "--key", of.key, "--yes", "--", "/bin/true"}
	h.refusesToAdd(jobspec.CodePrincipalUnknown, add...)

	op := h.draftOp("scratch", "m3")
	raw := encode(h.t, op)
	borrowed := signingtest.File(h.t, "op", raw)
	sig := signingtest.StockSign(h.t, nil, of.key, "scratch.none.v1@sbxcron", raw)
	if e := h.failure("apply", borrowed, signingtest.File(h.t, "sig", sig)); e.ErrCode != jobspec.CodeKeyNotForPrincipal {
		h.t.Errorf("bob signs for alice: %+v", e)
	}

	admitted := func(change func(bob map[string]any)) {
		h.permit(func(top, _ map[string]any) {
			part := map[string]any{"max_tier": "read-only"}
			if change != nil {
				change(part)
			}
			top["principals"].(map[string]any)["bob"] = part
		})
	}
	admitted(nil)
	h.refusesToAdd(jobspec.CodeTierOverCeiling, "m3w", "--schedule", never, "--tier", "workspace", "--cwd", h.mkdir("m3w"), "--key", of.key, "--yes", "--", "/bin/true")
	h.must(append([]string{"add"}, add...)...)
	h.row("m3", "succeeded", "")
	admitted(func(bob map[string]any) { bob["disabled"] = true })
	if r := h.row("m3", "refused", jobspec.CodePrincipalDisabled); r.Verdicts == nil || r.Verdicts.Identity != jobspec.No || r.Verdicts.Consent != jobspec.Yes {
		h.t.Errorf("verdicts %+v: the consent stands, the identity does not", r.Verdicts)
	}
	h.permit(nil)
	h.row("m3", "refused", jobspec.CodePrincipalUnknown)
	h.must("remove", "m3", "--key", h.key, "--yes") // alice holds the root namespace
}

// misconfig_4: a word like full or elevated "overrides a deny". No such word
// exists, and neither an answer nor a new signature lifts a deny.
func noWordOverridesADeny(h *house) {
	dir := h.script("m4", canary)
	h.add("m4", dir, "workspace", "./job.sh")
	h.row("m4", "succeeded", "")
	head := "name = \"m4x\"\nschedule = \"@yearly\"\ncommand = [\"/bin/true\"]\n"
	for _, word := range []string{"full", "elevated", "guarded", "bypassPermissions"} {
		h.refusesToAdd(jobspec.CodeTierForbidden, "m4x", "--schedule", never, "--tier", word, "--yes", "--", "/bin/true")
	}
	for _, word := range []string{"danger-full-access", "host", "off"} {
		h.refusedFile(jobspec.CodeTierForbidden, head+"tier = \""+word+"\"\n")
	}
	for _, key := range []string{"elevated = \"full\"", "host = \"gateway\"", "security = \"full\"", "required = false"} {
		h.refusedFile(jobspec.CodeSpecUnknownField, head+key+"\n")
	}
	for _, word := range []string{"local", "off"} {
		h.refusedFile(jobspec.CodeSbxBackendMissing, head+"[backend]\nany_of = [\""+word+"\"]\n")
	}

	h.permit(func(top, _ map[string]any) {
		top["rules"] = rules([3]string{"deny", "no-job", "job.sh"}, [3]string{"allow", "yes-job", "job.sh"})
	})
	r := h.row("m4", "refused", jobspec.CodeCmdDeniedRule)
	if i := slices.IndexFunc(r.Reasons, func(x api.Reason) bool { return x.Code == jobspec.CodeCmdDeniedRule }); i < 0 || r.Reasons[i].Layer != "managed" || r.Reasons[i].Rule != "no-job" {
		h.t.Errorf("the row does not name layer and rule: %+v", r.Reasons)
	}
	again := []string{"m4y", "--schedule", never, "--tier", "workspace", "--cwd", dir, "--yes", "--", "./job.sh"}
	h.refusesToAdd(jobspec.CodeCmdDeniedRule, again...)
	inline := []string{"m4y", "--schedule", never, "--yes", "--", "/bin/sh", "-c", "ls; id"}
	asked := h.dryRun(inline...)
	if len(asked.Asks) != 1 || len(asked.Reasons) != 0 {
		h.t.Fatalf("dry run: %+v, want one ask", asked)
	}
	h.permit(func(top, _ map[string]any) { top["rules"] = rules([3]string{"deny", "no-id", "id"}) })
	h.refusesToAdd(jobspec.CodeCmdDeniedRule, append([]string{"--answer", asked.Asks[0].ID + "=allow"}, inline...)...)
	if n := h.starts(dir); n != 1 {
		h.t.Errorf("the payload began %d times, want the one before the deny", n)
	}
}

// misconfig_5: the folder is read-only, "so what is bound beside it is, too". A
// bind says its mode or does not exist, and nothing writes in a tier that does
// not.
func aBindIsWhatItSays(h *house) {
	dir, beside := h.script("m5", "echo x > \"$1/new\" || echo refused"), h.mkdir("m5-beside")
	head := "name = \"m5\"\nschedule = \"@yearly\"\ntier = \"read-only\"\ncwd = \"" + dir + "\"\ncommand = [\"./job.sh\", \"" + beside + "\"]\n"
	h.permit(func(_, alice map[string]any) { alice["read"], alice["write"] = []any{beside}, []any{beside} })
	bind := func(source, mode string) string {
		if mode != "" {
			mode = "mode = \"" + mode + "\"\n"
		}
		return head + "[[bind]]\nsource = \"" + source + "\"\ntarget = \"/mnt/beside\"\n" + mode
	}
	h.refusedFile(jobspec.CodeBindModeMissing, bind(beside, ""))
	h.refusedFile(jobspec.CodeBindOverCeiling, bind(beside, "rw"))
	h.refusedFile(jobspec.CodeBindOverCeiling, bind(beside, "ro")) // a ceiling for paths is none for binds
	h.refusedFile(jobspec.CodePathOverCeiling, head+"[fs]\nwrite = [\""+beside+"\"]\n")
	socket := filepath.Join(dir, "docker.sock")
	l, err := net.Listen("unix", socket)
	must(h.t, err)
	defer l.Close()
	for i, place := range []string{socket, "/proc", "/sys", "/dev/null", h.root, h.key, "/etc/shadow", "/home"} {
		h.permit(func(_, alice map[string]any) { alice["bind"], alice["write"] = []any{place}, []any{place} })
		for _, mode := range []string{"ro", "rw"}[:1+i%2] {
			d := h.failure("add", "-f", h.jobFile(bind(place, mode)), "--yes")
			if sensitive := []jobspec.Code{jobspec.CodePathSensitive, jobspec.CodeBindSensitive, jobspec.CodePathUnreachable, jobspec.CodeBindOverCeiling, jobspec.CodeSpecMalformed}; !slices.Contains(sensitive, d.ErrCode) {
				h.t.Errorf("bind of %s, %s: %+v", place, mode, d)
			}
		}
	}
	h.permit(func(_, alice map[string]any) { alice["read"], alice["bind"] = []any{beside}, []any{beside} })
	h.must("add", "-f", h.jobFile(strings.Replace(bind(beside, "ro"), "name = \"m5\"", "name = \"m5b\"", 1)), "--yes")
	if x := h.explain("m5b"); len(x.Opens.Write) != 0 || !slices.Contains(x.Opens.Read, beside) {
		h.t.Errorf("explain of the bind opens %+v", x.Opens)
	}
	h.row("m5b", "succeeded", "")
	h.must("add", "-f", h.jobFile(head+"[fs]\nread = [\""+beside+"\"]\n"), "--yes")
	if says := h.text(h.row("m5", "succeeded", "")); !strings.Contains(says, "refused") {
		h.t.Errorf("it says %q", says)
	}
	if x := h.explain("m5"); !slices.Contains(x.Opens.Read, beside) || len(x.Opens.Write) != 0 {
		h.t.Errorf("explain opens %+v", x.Opens)
	}
	if names, err := os.ReadDir(beside); err != nil || len(names) != 0 {
		h.t.Errorf("%d names lie in the folder, %v", len(names), err)
	}
}

// misconfig_6: nobody is there, "so it goes on, or it would hang". A question
// that nobody answers is a no, at once, at add and at each trigger.
func nobodyThereIsNoYes(h *house) {
	dir := h.script("m6", canary)
	quick := func(what string, do func()) {
		begin := time.Now()
		do()
		if took := time.Since(begin); took > 20*time.Second {
			h.t.Errorf("%s took %s: it waited for somebody", what, took)
		}
	}
	inline := []string{"m6x", "--schedule", never, "--yes", "--", "/bin/sh", "-c", "echo hello"}
	quick("add", func() {
		if e := h.refusesToAdd(jobspec.CodeCmdAskUnanswered, inline...); !strings.Contains(e.Help, "--answer") {
			h.t.Errorf("the hint does not say how to answer: %+v", e)
		}
	})
	h.add("m6", dir, "workspace", "./job.sh")
	h.permit(func(top, _ map[string]any) { top["rules"] = rules([3]string{"ask", "ask-job", "job.sh"}) })
	quick("run", func() {
		r := h.row("m6", "refused", jobspec.CodeAskAtTrigger)
		if r.Verdicts == nil || r.Verdicts.Consent != jobspec.No || r.Verdicts.Identity != jobspec.Yes {
			h.t.Errorf("verdicts %+v", r.Verdicts)
		}
	})
	for _, key := range []string{"ask_fallback", "on_ask", "askFallback", "cron_mode", "unattended", "auto_approve", "assume_yes"} {
		h.permit(func(top, _ map[string]any) { top[key] = "allow" })
		h.row("m6", "refused", jobspec.CodePolicySchema)
	}
	if n := h.starts(dir); n != 0 {
		h.t.Errorf("the payload began %d times", n)
	}
}
