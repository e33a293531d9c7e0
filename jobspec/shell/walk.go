package shell

import (
	"fmt"

	"mvdan.cc/sh/v3/syntax"
)

// walker collects the commands of one text.
type walker struct {
	text    string
	dialect Dialect
	again   int // backquotes around the text
	moves   moves
	found   []Command
	err     error
}

// place is the folder that the next command starts in.
type place struct {
	dir   string
	known bool
}

func (p place) copy() *place { return &p }

// meet is where one is after either of two ways.
func (p *place) meet(q place) {
	if *p != q {
		p.known = false
	}
}

func (w *walker) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *walker) stmts(list []*syntax.Stmt, at *place) {
	for _, s := range list {
		w.stmt(s, at, false)
	}
}

// stmt reads one statement. What runs in a process of its own leaves the folder
// of those after it alone.
func (w *walker) stmt(s *syntax.Stmt, at *place, feeds bool) {
	if s == nil {
		return
	}
	if s.Background || s.Coprocess || s.Disown {
		at = at.copy()
	}
	outer := Command{Feeds: feeds, Dir: at.dir, DirKnown: at.known}
	w.redirections(s.Redirs, &outer, at)
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		w.call(c, outer, at)
		return
	case *syntax.DeclClause:
		w.declare(c, outer, at)
		return
	}
	if len(outer.Writes) > 0 || outer.From.Text != "" {
		w.found = append(w.found, outer)
	}
	w.compound(s.Cmd, at, feeds)
}

func (w *walker) compound(cmd syntax.Command, at *place, feeds bool) {
	switch c := cmd.(type) {
	case nil:
	case *syntax.BinaryCmd:
		w.binary(c, at, feeds)
	case *syntax.Subshell:
		w.stmts(c.Stmts, at.copy())
	case *syntax.Block:
		w.stmts(c.Stmts, at)
	case *syntax.IfClause:
		w.branch(c, at)
	case *syntax.WhileClause:
		w.loop(at, append(append([]*syntax.Stmt(nil), c.Cond...), c.Do...))
	case *syntax.ForClause:
		w.forLoop(c, at)
	case *syntax.CaseClause:
		w.caseClause(c, at)
	case *syntax.FuncDecl:
		w.stmt(c.Body, &place{dir: at.dir, known: at.known && !w.moves.anywhere}, false)
	case *syntax.TimeClause:
		w.stmt(c.Stmt, at, feeds)
	case *syntax.CoprocClause:
		w.stmt(c.Stmt, at.copy(), true)
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		w.nested(c, at)
	default:
		w.fail(fmt.Errorf("it holds a %T, which is not followed here", cmd))
	}
}

func (w *walker) binary(c *syntax.BinaryCmd, at *place, feeds bool) {
	switch c.Op {
	case syntax.AndStmt:
		w.stmt(c.X, at, feeds)
		w.stmt(c.Y, at, feeds)
	case syntax.OrStmt:
		before := at.copy()
		w.stmt(c.X, at, feeds)
		w.stmt(c.Y, before, feeds)
		if !ends(c.Y) {
			at.meet(*before)
		}
	default: // a pipe: each side in a process of its own
		w.stmt(c.X, at.copy(), true)
		w.stmt(c.Y, at.copy(), feeds)
	}
}

func (w *walker) branch(c *syntax.IfClause, at *place) {
	w.stmts(c.Cond, at)
	then, other := at.copy(), at.copy()
	w.stmts(c.Then, then)
	if c.Else != nil {
		w.branch(c.Else, other)
	}
	*at = *then
	at.meet(*other)
}

// loop reads a body that runs any number of times.
func (w *walker) loop(at *place, body []*syntax.Stmt) {
	for _, s := range body {
		if moved(s) {
			at.known = false
			break
		}
	}
	w.stmts(body, at)
}

func (w *walker) forLoop(c *syntax.ForClause, at *place) {
	w.nested(c.Loop, at)
	if iter, ok := c.Loop.(*syntax.WordIter); ok {
		w.found = append(w.found, Command{Assigns: []Assign{{Name: iter.Name.Value, Value: Word{Text: w.source(iter), Dynamic: true}}},
			Dir: at.dir, DirKnown: at.known})
	}
	w.loop(at, c.Do)
}

func (w *walker) caseClause(c *syntax.CaseClause, at *place) {
	w.nested(c.Word, at)
	after := at.copy()
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			w.nested(p, at)
		}
		way := at.copy()
		w.stmts(item.Stmts, way)
		after.meet(*way)
	}
	*at = *after
}

// nested reads the commands of the substitutions anywhere below a node, and the
// variables that its expansions set.
func (w *walker) nested(n syntax.Node, at *place) {
	if n == nil {
		return
	}
	quoted := []bool{false} // for each node above, whether it stands between double quotes
	syntax.Walk(n, func(n syntax.Node) bool {
		within := quoted[len(quoted)-1]
		switch s := n.(type) {
		case nil:
			quoted = quoted[:len(quoted)-1]
			return false
		case *syntax.DblQuoted:
			within = true
		case *syntax.CmdSubst:
			w.substitution(s, at, within)
			return false
		case *syntax.ProcSubst:
			w.stmts(s.Stmts, at.copy())
			return false
		case *syntax.ParamExp:
			w.expansion(s, at)
		case *syntax.SglQuoted:
			w.hidden(s, at)
		}
		quoted = append(quoted, within)
		return true
	})
}

// substitution reads a command substitution. The parser keeps the backslashes of
// the old form; a shell takes them off and reads what is left, and so do we.
func (w *walker) substitution(s *syntax.CmdSubst, at *place, quoted bool) {
	w.stmts(s.Stmts, at.copy())
	if !s.Backquotes {
		return
	}
	inner, escaped := backquoted(w.source(s), quoted)
	if !escaped {
		return
	}
	if w.again >= maxReparse {
		w.fail(errDeep)
		return
	}
	again, err := read(inner, w.dialect, w.again+1)
	if err != nil {
		w.fail(err)
		return
	}
	for _, c := range again.found {
		c.DirKnown = false
		w.found = append(w.found, c)
	}
}
