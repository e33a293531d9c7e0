//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// layered is a house whose policy is made of several files. Serials only rise, so
// the steps of its test come one after the other.
type layered struct {
	*house
	serial int
}

// base writes policy.toml with the next serial.
func (l *layered) base(change func(top, alice map[string]any)) {
	l.t.Helper()
	l.serial += 10
	l.permit(func(top, alice map[string]any) {
		top["serial"] = l.serial
		if change != nil {
			change(top, alice)
		}
	})
}

// file writes, or with no text removes, a file of CONF.
func (l *layered) file(name, text string) {
	l.t.Helper()
	path := filepath.Join(filepath.Dir(l.dirs().Policy()), name)
	if text == "" {
		must(l.t, os.Remove(path))
		return
	}
	must(l.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(l.t, os.WriteFile(path, []byte(text), 0o600))
}

// because wants the job refused by one layer with one code.
func (l *layered) because(job string, code jobspec.Code, layer string) {
	l.t.Helper()
	r := l.row(job, "refused", code)
	if !slices.ContainsFunc(r.Reasons, func(x api.Reason) bool { return x.Code == code && x.Layer == layer }) {
		l.t.Errorf("reasons %+v, want %s of layer %q", r.Reasons, code, layer)
	}
}

// Bug reports about several sources of one policy, and the two gates.
func TestPolicyLayers(t *testing.T) {
	l := &layered{house: newHouse(t), serial: 1}
	l.base(nil)
	l.start()
	l.add("job", l.script("ws", "true"), "workspace", "./job.sh")
	for _, step := range []struct {
		name string
		show func(l *layered)
	}{
		{"75 an empty source erases nothing", emptySourceErasesNothing},
		{"76 every source counts", everySourceCounts},
		{"91 a rule that allows in vain is told", vainRuleIsTold},
		{"105 what a change would do is told before", changeIsToldBefore},
		{"an owner's file narrows and never widens", ownersFileNarrows},
		{"two gates", twoGates},
	} {
		t.Run(step.name, func(t *testing.T) {
			at := *l
			at.house = l.under(t)
			at.row("job", "succeeded", "")
			step.show(&at)
			l.serial = at.serial
		})
	}
}

func emptySourceErasesNothing(l *layered) {
	l.file("policy.d/50-empty.toml", "# nothing\n")
	l.row("job", "refused", jobspec.CodePolicySchema)
	l.refusesToAdd(jobspec.CodePolicySchema, "more", "--schedule", never, "--yes", "--", "/bin/true")
	l.must("list")
	l.file("policy.d/50-empty.toml", "serial = 1\n")
	l.row("job", "succeeded", "")
	// A source that was there and is not is an older policy.
	l.file("policy.d/50-empty.toml", "")
	l.row("job", "refused", jobspec.CodePolicyRollback)
	l.base(nil)
	l.row("job", "succeeded", "")
}

func everySourceCounts(l *layered) {
	loose := "serial = 1\n[principals.alice]\nmax_tier = \"workspace\"\nmax_jobs = 10000\n"
	l.file("policy.d/10-first.toml", loose)
	l.row("job", "succeeded", "")
	l.file("policy.d/20-low.toml", "serial = 1\n[principals.alice]\nmax_tier = \"read-only\"\n")
	l.file("policy.d/30-last.toml", loose)
	l.because("job", jobspec.CodeTierOverCeiling, jobspec.LayerManaged)
	fields := item[struct {
		Fields []jobspec.EffectiveField `json:"fields"`
	}](l.house, "policy", "show", "--effective", "--for", "alice").Fields
	i := slices.IndexFunc(fields, func(f jobspec.EffectiveField) bool { return f.Field == "max_tier" })
	if i < 0 || !slices.Equal(fields[i].Value, []string{"read-only"}) || !slices.Equal(fields[i].From, []string{"policy.d/20-low.toml"}) {
		l.t.Errorf("effective: %+v", fields)
	}
	l.file("policy.d/20-low.toml", "serial = 1\n[[rules]]\nid = \"low\"\neffect = \"deny\"\nwhy = \"w\"\nname = \"job.sh\"\n")
	l.because("job", jobspec.CodeCmdDeniedRule, jobspec.LayerManaged)
	for _, name := range []string{"10-first", "20-low", "30-last"} {
		l.file("policy.d/"+name+".toml", "")
	}
	l.base(nil)
	l.row("job", "succeeded", "")
}

func vainRuleIsTold(l *layered) {
	l.base(func(top, _ map[string]any) {
		top["rules"] = rules([3]string{"deny", "no-shell", "sh"}, [3]string{"allow", "yes-sh", "sh"})
	})
	r := l.run("policy", "check", "--json")
	var doc struct {
		Items []struct {
			File, Code, Rule string
			Line             int
		} `json:"items"`
	}
	l.decode(r.out, &doc)
	if r.code != 3 || len(doc.Items) != 1 || doc.Items[0].Rule != "yes-sh" || doc.Items[0].Code != "rule_hidden" ||
		doc.Items[0].Line == 0 || !strings.HasSuffix(doc.Items[0].File, "policy.toml") {
		l.t.Errorf("policy check: exit %d, %+v", r.code, doc.Items)
	}
	l.row("job", "succeeded", "") // it is told, and refuses nothing
	l.base(nil)
	l.must("policy", "check")
}

func changeIsToldBefore(l *layered) {
	other := l.t.TempDir()
	tight := "serial = 1000\nenabled_platforms = [\"linux\"]\n[principals.alice]\nmax_tier = \"scratch\"\n"
	must(l.t, os.WriteFile(filepath.Join(other, "policy.toml"), []byte(tight), 0o644))
	r := l.run("policy", "check", "--replay", "--policy", other, "--json")
	if r.code != 3 || !strings.Contains(r.out, `"job"`) || !strings.Contains(r.out, string(jobspec.CodeTierOverCeiling)) {
		l.t.Errorf("replay under a tighter policy: exit %d\n%s%s", r.code, r.out, r.err)
	}
	l.row("job", "succeeded", "") // nothing was changed by looking
}

func ownersFileNarrows(l *layered) {
	l.file("owner.d/alice.toml", "[principals.alice]\nmax_tier = \"read-only\"\n")
	l.because("job", jobspec.CodeTierOverCeiling, jobspec.LayerOwner)
	l.file("owner.d/alice.toml", "[[rules]]\nid = \"mine\"\neffect = \"deny\"\nwhy = \"w\"\nname = \"job.sh\"\n")
	l.because("job", jobspec.CodeCmdDeniedRule, jobspec.LayerOwner)
	l.base(func(_, alice map[string]any) { alice["max_tier"] = "read-only" })
	l.file("owner.d/alice.toml", "[principals.alice]\nmax_tier = \"workspace\"\n")
	l.because("job", jobspec.CodeTierOverCeiling, jobspec.LayerManaged)
	l.base(func(top, _ map[string]any) { top["managed_only"] = map[string]any{"commands": true} })
	l.file("owner.d/alice.toml", "[[rules]]\nid = \"mine\"\neffect = \"allow\"\nwhy = \"w\"\npath = \""+l.work+"/ws/job.sh\"\n")
	l.because("job", jobspec.CodeCmdNotAllowed, jobspec.LayerManaged)
	l.file("owner.d/alice.toml", "")
	l.base(nil)
}

// Whatever lies outside is named by the policy and by the spec, or it is shut.
func twoGates(l *layered) {
	reach := plain("gates") + "[net]\nmode = \"proxy\"\nallow = [\"api.example.org:443\"]\nsockets = [\"/srv/s/db\"]\n[[credential]]\nname = \"token\"\nas = \"file\"\n"
	shut := func(why string, change func(top, alice map[string]any), want ...jobspec.Code) {
		l.t.Helper()
		l.base(change)
		d := l.dryRun("-f", l.jobFile(reach))
		var got []jobspec.Code
		for _, r := range d.Reasons {
			if strings.Contains(r.Detail, "the gate of the policy is shut") {
				got = append(got, r.Code)
			}
		}
		if !slices.Equal(got, want) {
			l.t.Errorf("%s: %v, want %v: %+v", why, got, want, d.Reasons)
		}
		if len(d.Reasons) == 0 {
			l.t.Errorf("%s: what is not built is not refused", why)
		}
	}
	shut("only the spec names them", func(_, alice map[string]any) { alice["max_net"] = "proxy" },
		jobspec.CodeNetOverCeiling, jobspec.CodeSocketOverCeiling, jobspec.CodeCredentialOverCeiling)
	both := func(_, alice map[string]any) {
		alice["max_net"], alice["hosts"] = "proxy", []any{"*.example.org:443"}
		alice["sockets"], alice["credentials"] = []any{"/srv/s"}, []any{"token"}
	}
	shut("both name them", both)
	l.base(both)
	l.must("add", "gates", "--schedule", never, "--yes", "--", "/bin/true")
	if x := l.explain("gates"); len(x.Opens.Hosts)+len(x.Opens.Sockets)+len(x.Opens.Credentials) != 0 {
		l.t.Errorf("only the policy names them, and the job opens %+v", x.Opens)
	}
	l.base(nil)
}
