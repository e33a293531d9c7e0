package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/jobspec"
)

type policyShowOptions struct {
	effective bool
	principal string
}

func newPolicy(a *App) *cobra.Command {
	var o policyShowOptions
	show := &cobra.Command{
		Use:   "show [floor] [--effective --for PRINCIPAL]",
		Short: "Print the policy in force, after checking it as the service does",
		Long: `Print the policy in force: policy.toml, the files of policy.d and owner.d, after
checking them as the service does. With --effective, what holds for one principal
after all files were met, and the file that each value comes from. "policy show
floor" prints the layer that is compiled in and that no file changes.`,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{jobspec.LayerFloor},
		RunE: work(func(_ context.Context, args []string) error {
			switch {
			case len(args) == 1 && (o.effective || o.principal != ""):
				return usageError("the floor is the same for everybody: --effective and --for do not go with it")
			case len(args) == 1:
				return a.policyFloor()
			case o.effective != (o.principal != ""):
				return usageError("--effective and --for PRINCIPAL go together")
			case o.effective:
				return a.policyEffective(jobspec.Principal(o.principal))
			}
			return a.policyShow()
		}),
	}
	show.Flags().BoolVar(&o.effective, "effective", false, "print what holds after all files were met")
	show.Flags().StringVar(&o.principal, "for", "", "principal that --effective is about")
	return group("policy", "What this machine allows", show, newPolicyCheck(a))
}

type policyDoc struct {
	Floor   jobspec.Digest  `json:"floor"`   // of the rules that are compiled in
	Managed jobspec.Digest  `json:"managed"` // of policy.toml and policy.d
	Serial  int64           `json:"serial"`  // the sum of those of the managed files
	Text    string          `json:"text"`    // of policy.toml
	Files   []policyFileDoc `json:"files"`
}

type policyFileDoc struct {
	Name   string            `json:"name"`
	Owner  jobspec.Principal `json:"owner,omitempty"`
	Digest jobspec.Digest    `json:"digest"`
	Serial int64             `json:"serial,omitempty"`
	Text   string            `json:"text"`
}

func (a *App) policySet() (*config.PolicySet, error) {
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return nil, err
	}
	return site.Policy()
}

func (a *App) policyShow() error {
	set, err := a.policySet()
	if err != nil {
		return err
	}
	doc := policyDoc{Floor: jobspec.FloorDigest(), Managed: set.Policy.Digest, Serial: set.Policy.Serial, Text: string(set.Files[0].Text)}
	for _, f := range set.Files {
		doc.Files = append(doc.Files, policyFileDoc{Name: f.Name, Owner: f.Owner, Digest: f.Policy.Digest, Serial: f.Policy.Serial, Text: string(f.Text)})
	}
	if a.flags.json {
		return a.item("policy", doc)
	}
	a.say("floor %s, compiled in; managed %s, serial %d", doc.Floor, doc.Managed, doc.Serial)
	for _, f := range doc.Files {
		if len(doc.Files) > 1 {
			a.say("%s, %s:", f.Name, f.Digest)
		}
		sink := a.textSink()
		if _, err := sink.Write([]byte(f.Text)); err != nil {
			return err
		}
		if err := sink.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) policyFloor() error {
	if a.flags.json {
		return a.item("policy_floor", struct {
			Version int            `json:"version"`
			Digest  jobspec.Digest `json:"digest"`
			Lines   []string       `json:"lines"`
		}{jobspec.FloorVersion, jobspec.FloorDigest(), jobspec.Floor()})
	}
	for _, line := range jobspec.Floor() {
		a.line("%s", line)
	}
	return nil
}

type effectiveDoc struct {
	Principal   jobspec.Principal        `json:"principal"`
	Serial      int64                    `json:"serial"`
	SelfImposed bool                     `json:"self_imposed"` // user mode: the owner can change the files
	Fields      []jobspec.EffectiveField `json:"fields"`
	Rules       []ruleDoc                `json:"rules"`
}

type ruleDoc struct {
	ID     string `json:"id"`
	Layer  string `json:"layer"`
	File   string `json:"file"`
	Effect string `json:"effect"`
	Why    string `json:"why"`
}

func (a *App) policyEffective(who jobspec.Principal) error {
	set, err := a.policySet()
	if err != nil {
		return err
	}
	if o := set.Policy.Owners[who]; o.Reason != "" {
		return ownError(o.Reason, o.Reason.Class(), o.Reason.Remedy(), "%s", o.Detail)
	}
	var files []jobspec.NamedPolicy
	for _, f := range set.Files {
		if f.Owner == "" || f.Owner == who {
			files = append(files, jobspec.NamedPolicy{Name: f.Name, Policy: f.Policy})
		}
	}
	fields, known := jobspec.Effective(files, who)
	if !known {
		code := jobspec.CodePrincipalUnknown
		return ownError(code, jobspec.ClassNotFound, code.Remedy(), "the policy has no [principals.%s], so nothing is allowed", who)
	}
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return err
	}
	doc := effectiveDoc{Principal: who, Serial: set.Policy.Serial, SelfImposed: site.SelfImposed(), Fields: fields}
	for _, r := range set.Policy.For(who).Rules {
		doc.Rules = append(doc.Rules, ruleDoc{r.ID, r.Layer, cmp.Or(r.File, config.PolicyName), r.Effect, r.Why})
	}
	if a.flags.json {
		return a.item("policy_effective", doc)
	}
	return a.printEffective(doc)
}

func (a *App) printEffective(doc effectiveDoc) error {
	if doc.SelfImposed {
		a.say("ceilings: self-imposed; whoever owns these files can change them")
	}
	t := a.UI.Table("FIELD", "VALUE", "FROM")
	for _, f := range doc.Fields {
		t.Row(f.Field, strings.Join(f.Value, ", "), strings.Join(f.From, ", "))
	}
	for _, r := range doc.Rules {
		t.Row("rule "+r.ID, fmt.Sprintf("%s: %s", r.Effect, r.Why), r.File)
	}
	_, err := t.WriteTo(a.UI.Out)
	return err
}
