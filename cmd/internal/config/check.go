package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
)

// PolicyProblem is one thing that is wrong with a policy, and where.
type PolicyProblem struct {
	File   string       `json:"file"`
	Line   int          `json:"line,omitempty"` // from 1
	Column int          `json:"column,omitempty"`
	Code   jobspec.Code `json:"code"`
	Rule   string       `json:"rule,omitempty"`
	Detail string       `json:"detail"`
	Remedy string       `json:"remedy,omitempty"`
}

// CodeRuleHidden marks a rule that allows in vain. It refuses nothing: no record
// ever holds it.
const CodeRuleHidden jobspec.Code = "rule_hidden"

// CheckPolicy looks at the policy in force, as a decision would and further: it
// tells every problem, and rules that allow in vain.
func (s Site) CheckPolicy(serial int64) []PolicyProblem {
	return s.folder().check(func() (*PolicySet, error) { return s.PolicySet(serial) })
}

// CheckDraft looks at a policy that is not in force: a folder laid out like CONF,
// or one file of it.
func CheckDraft(path string) ([]PolicyProblem, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("policy %q: %w", path, err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return checkFile(abs), nil
	}
	f := plainFolder(abs)
	return f.check(f.load), nil
}

// checkFile looks at one file; the folder it lies in says which kind it is.
func checkFile(path string) []PolicyProblem {
	text, err := readPlain(path, nil)
	if err != nil {
		return []PolicyProblem{problemIn(path, &Error{Reason: jobspec.CodePolicyPerms, Path: path, Err: err})}
	}
	name := ""
	if dir := filepath.Base(filepath.Dir(path)); dir == FurtherDir || dir == OwnerDir {
		name = dir + "/" + filepath.Base(path)
	}
	p, problems := checkText(path, name, text)
	if len(problems) > 0 {
		return problems
	}
	if err := checkZones(p); err != nil {
		return []PolicyProblem{problemIn(path, err)}
	}
	return hiddenIn(p, []PolicyFile{{Name: name, Text: text, Policy: p}}, func(string) string { return path })
}

// check reads each file for itself and tells all that is wrong; only what is
// right is then joined and looked at as a whole.
func (f folder) check(load func() (*PolicySet, error)) []PolicyProblem {
	var all []PolicyProblem
	names := []string{PolicyName}
	for _, dir := range []string{FurtherDir, OwnerDir} {
		more, err := f.names(dir)
		if err != nil {
			all = append(all, problemIn(filepath.Join(f.path, dir), err))
		}
		names = append(names, more...)
	}
	for _, name := range names {
		path := filepath.Join(f.path, name)
		text, err := f.read(path, nil)
		if err != nil {
			continue // loading says why, or finds another owner
		}
		_, problems := checkText(path, strings.TrimPrefix(name, PolicyName), text)
		all = append(all, problems...)
	}
	if len(all) > 0 {
		return all
	}
	set, err := load()
	if err != nil {
		return append(all, problemIn(f.path, err))
	}
	return append(f.ownerFaults(set), hiddenIn(set.Policy, set.Files, func(name string) string { return filepath.Join(f.path, name) })...)
}

// ownerFaults are those that a decision finds only for one principal's jobs.
func (f folder) ownerFaults(set *PolicySet) []PolicyProblem {
	var all []PolicyProblem
	for who, o := range set.Policy.Owners {
		if o.Reason != "" {
			all = append(all, PolicyProblem{File: filepath.Join(f.path, OwnerDir, string(who)+".toml"), Code: o.Reason, Detail: o.Detail, Remedy: o.Reason.Remedy()})
		}
	}
	slices.SortFunc(all, func(a, b PolicyProblem) int { return cmp.Compare(a.File, b.File) })
	return all
}

// checkText reads one file as the kind that its name says.
func checkText(path, name string, text []byte) (*jobspec.Policy, []PolicyProblem) {
	var who jobspec.Principal
	if stem, ok := strings.CutPrefix(name, OwnerDir+"/"); ok {
		who = jobspec.Principal(strings.TrimSuffix(stem, ".toml"))
	}
	p, faults := jobtoml.PolicyProblems(name, who, text)
	var all []PolicyProblem
	for _, e := range faults {
		all = append(all, problemIn(path, e))
	}
	return p, all
}

// problemIn tells an error with the most exact place that it knows.
func problemIn(path string, err error) PolicyProblem {
	p := PolicyProblem{File: path, Code: jobspec.CodeOr(err, jobspec.CodePolicyEvalError), Detail: err.Error()}
	if e, ok := errors.AsType[*Error](err); ok {
		p.File, p.Detail = e.Path, e.Err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			p.Detail = "the file is missing"
		}
	}
	if e, ok := errors.AsType[*jobtoml.Error](err); ok {
		p.Line, p.Column, p.Detail = e.Line, e.Column, e.Detail
		if e.Field != "" {
			p.Detail = e.Field + ": " + e.Detail
		}
	}
	p.Remedy = p.Code.Remedy()
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok && h.Hint() != "" {
		p.Remedy = h.Hint()
	}
	return p
}

// hiddenIn tells of rules that allow in vain. A principal's own rules are looked
// at together with the managed ones.
func hiddenIn(p *jobspec.Policy, files []PolicyFile, path func(name string) string) []PolicyProblem {
	hidden := jobspec.HiddenRules(p)
	for _, f := range files {
		if f.Owner == "" {
			continue
		}
		for _, h := range jobspec.HiddenRules(p.For(f.Owner)) {
			if h.Rule.Layer == jobspec.LayerOwner {
				hidden = append(hidden, h)
			}
		}
	}
	var all []PolicyProblem
	for _, h := range hidden {
		name := cmp.Or(h.Rule.File, PolicyName)
		problem := PolicyProblem{File: path(name), Code: CodeRuleHidden, Rule: h.Rule.ID,
			Detail: fmt.Sprintf("rule %q allows in vain: %s", h.Rule.ID, h.Detail), Remedy: "remove the rule, or what hides it"}
		for _, f := range files {
			if cmp.Or(f.Name, PolicyName) == name {
				problem.Line, problem.Column = jobtoml.RulePlace(f.Text, h.Rule.ID)
			}
		}
		all = append(all, problem)
	}
	return all
}
