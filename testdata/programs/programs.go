// Package programs holds scripts that use programs of everyday life inside a
// job, one file for each thing tried. The head of a file says what is tried, how
// the run must end and what the owner can sign instead; docs/sandbox.md prints
// these heads as a table, and runner/runnertest runs every file in the sandbox.
package programs

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed *.sh
var files embed.FS

// How a run of a program ends.
const (
	Works    = "works"           // succeeded, and nothing that counts was denied
	AsSigned = "works as signed" // the same, with denials that the owner signs as expected
	Denied   = "denied"          // what it wanted was refused and recorded
	Failed   = "failed"          // it did not get what it wanted, and no event says so
)

// Program is one thing that was tried.
type Program struct {
	File    string // without .sh
	Name    string
	Does    string
	Version string   // a command whose first line tells it, "" for none
	Needs   []string // programs of the system
	Server  string   // what the test offers to the job, "" for nothing
	Proxy   bool     // net proxy
	Ends    string
	Prints  string     // what must stand in its output
	Denials []Denial   // those that must be recorded and count
	Signed  [][]string // code and target of those that the job expects
	Why     string
	Sign    string
	Arch    string // where it ends so, "" for everywhere
	Slow    bool   // left to "make programs"
	Body    string
}

// Denial is one that a run is recorded with. A target that ends in "*" stands for
// all that begin so; some depend on how a program was installed.
type Denial struct {
	Code, Target string
	Sometimes    bool
}

// Is reports whether this stands for a recorded denial.
func (d Denial) Is(code, target string) bool {
	prefix, open := strings.CutSuffix(d.Target, "*")
	return d.Code == code && (d.Target == target || open && strings.HasPrefix(target, prefix))
}

// All returns every program, those that work first.
func All() ([]Program, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var all []Program
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		p, err := parse(strings.TrimSuffix(path.Base(e.Name()), ".sh"), string(text))
		if err != nil {
			return nil, fmt.Errorf("testdata/programs/%s: %w", e.Name(), err)
		}
		all = append(all, p)
	}
	order := []string{Works, AsSigned, Denied, Failed}
	slices.SortStableFunc(all, func(a, b Program) int { return slices.Index(order, a.Ends) - slices.Index(order, b.Ends) })
	return all, nil
}

// parse reads the head of a file: comment lines of a word and its value.
func parse(file, text string) (Program, error) {
	p := Program{File: file, Ends: Works, Body: text}
	for i, line := range strings.Split(text, "\n") {
		word, value, ok := strings.Cut(strings.TrimPrefix(line, "# "), ": ")
		if i == 0 {
			continue
		}
		if !ok || !strings.HasPrefix(line, "# ") {
			break
		}
		if err := p.set(word, value); err != nil {
			return p, err
		}
	}
	if p.Name == "" || p.Does == "" || p.Ends != Works && (p.Why == "" || p.Sign == "") {
		return p, fmt.Errorf("program and does are missing, or why and sign of something that does not work as it is")
	}
	return p, nil
}

func (p *Program) set(word, value string) error {
	code, target, _ := strings.Cut(value, " ")
	switch word {
	case "program":
		p.Name = value
	case "does":
		p.Does = value
	case "version":
		p.Version = value
	case "needs":
		p.Needs = strings.Fields(value)
	case "server":
		p.Server = value
	case "net":
		p.Proxy = value == "proxy"
	case "ends":
		p.Ends = value
		if !slices.Contains([]string{Works, AsSigned, Denied, Failed}, value) {
			return fmt.Errorf("ends %q is no end", value)
		}
	case "prints":
		p.Prints = value
	case "denied":
		p.Denials = append(p.Denials, Denial{Code: code, Target: target})
	case "denied?":
		p.Denials = append(p.Denials, Denial{Code: code, Target: target, Sometimes: true})
	case "expected":
		p.Signed = append(p.Signed, []string{code, target})
	case "why":
		p.Why = value
	case "sign":
		p.Sign = value
	case "arch":
		p.Arch = value
	case "slow":
		p.Slow = value == "yes"
	default:
		return fmt.Errorf("%q is no word of a head", word)
	}
	return nil
}
