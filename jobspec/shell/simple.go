package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call records a simple command, what its words and assignments start, and
// where it leaves those after it.
func (w *walker) call(c *syntax.CallExpr, out Command, at *place) {
	for _, a := range c.Args {
		out.Words = append(out.Words, w.word(a))
	}
	before := ""
	if len(out.Words) > 0 {
		before = out.Words[0].Text
	}
	for _, a := range c.Assigns {
		if a.Name != nil {
			out.Assigns = append(out.Assigns, Assign{Name: a.Name.Value, Value: w.value(a), Command: before})
		}
	}
	out.Assigns = append(out.Assigns, sets(out.Words)...)
	w.found = append(w.found, out)
	for _, a := range c.Assigns {
		w.nested(a, at)
	}
	for _, a := range c.Args {
		w.nested(a, at)
	}
	at.follow(out.Words)
}

// declare records export, local and their like as the commands that they are.
func (w *walker) declare(c *syntax.DeclClause, out Command, at *place) {
	out.Words = []Word{{Text: c.Variant.Value}}
	for _, a := range c.Args {
		switch {
		case a.Name == nil:
			out.Words = append(out.Words, w.word(a.Value))
		case a.Naked:
			out.Words = append(out.Words, Word{Text: a.Name.Value})
		default:
			v := w.value(a)
			out.Words = append(out.Words, Word{Text: a.Name.Value + "=" + v.Text, Dynamic: v.Dynamic})
			out.Assigns = append(out.Assigns, Assign{Name: a.Name.Value, Value: v})
		}
	}
	w.found = append(w.found, out)
	w.nested(c, at)
}

func (w *walker) value(a *syntax.Assign) Word {
	if a.Array != nil || a.Append || a.Index != nil {
		return Word{Text: w.source(a), Dynamic: true}
	}
	return w.word(a.Value)
}

// sets finds the variables that builtins and, in plain shells, export and its
// like set by their operands.
func sets(words []Word) []Assign {
	if len(words) == 0 || words[0].Dynamic {
		return nil
	}
	var all []Assign
	add := func(name string, v Word) { all = append(all, Assign{Name: name, Value: v}) }
	switch words[0].Text {
	case "export", "readonly", "local", "declare", "typeset":
		for _, x := range words[1:] {
			if name, value, ok := strings.Cut(x.Text, "="); ok {
				add(name, Word{Text: value, Dynamic: x.Dynamic})
			}
		}
	case "read", "mapfile", "readarray", "getopts":
		for _, x := range words[1:] {
			if isName(x.Text) {
				add(x.Text, Word{Dynamic: true})
			}
		}
	case "printf":
		if len(words) > 2 && words[1].Text == "-v" {
			add(words[2].Text, Word{Dynamic: true})
		}
	}
	return all
}

func isName(s string) bool {
	return syntax.ValidName(s)
}

// expansion finds what an expansion does beside giving a value: ${NAME:=x} sets
// a variable, ${NAME@P} runs the substitutions in its value.
func (w *walker) expansion(p *syntax.ParamExp, at *place) {
	if p.Exp == nil {
		return
	}
	c := Command{Dir: at.dir, DirKnown: at.known}
	switch p.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if p.Param != nil {
			c.Assigns = []Assign{{Name: p.Param.Value, Value: w.word(p.Exp.Word)}}
		}
	case syntax.OtherParamOps:
		c.Words = []Word{{Text: w.source(p), Dynamic: true}}
	default:
		return
	}
	w.found = append(w.found, c)
}

// hidden calls a quoted subscript dynamic that an arithmetic evaluation would
// expand: bash runs the command in 'a[$(id)]' where it takes a number or a name.
func (w *walker) hidden(q *syntax.SglQuoted, at *place) {
	_, subscript, ok := strings.Cut(q.Value, "[")
	if ok && (strings.Contains(subscript, "$(") || strings.Contains(subscript, "`")) {
		w.found = append(w.found, Command{Words: []Word{{Text: w.source(q), Dynamic: true}}, Dir: at.dir, DirKnown: at.known})
	}
}

// redirections sorts the redirections of a statement.
func (w *walker) redirections(list []*syntax.Redirect, out *Command, at *place) {
	for _, r := range list {
		w.nested(r.Word, at)
		if r.Hdoc != nil {
			w.nested(r.Hdoc, at)
		}
		input := r.N == nil || r.N.Value == "0"
		target := w.word(r.Word)
		switch r.Op {
		case syntax.RdrIn:
			if input {
				out.From = target
			}
		case syntax.Hdoc, syntax.DashHdoc:
			if input {
				out.HasHere, out.Here = true, w.body(r.Hdoc)
			}
		case syntax.WordHdoc:
			if input {
				out.HasHere, out.Here = true, target.Text
			}
		case syntax.DplIn:
		case syntax.DplOut:
			if strings.Trim(target.Text, "0123456789-") != "" || target.Dynamic {
				out.Writes = append(out.Writes, target)
			}
		default:
			out.Writes = append(out.Writes, target)
		}
	}
}

// follow moves with a cd to a folder that is named literally.
func (p *place) follow(words []Word) {
	for len(words) > 0 && (words[0].Text == "command" || words[0].Text == "builtin") {
		words = words[1:]
	}
	if len(words) == 0 || !changes(words[0].Text) {
		return
	}
	operands := words[1:]
	for len(operands) > 0 && strings.HasPrefix(operands[0].Text, "-") && operands[0].Text != "-" {
		operands = operands[1:]
	}
	if len(operands) != 1 || operands[0].Dynamic || operands[0].Text == "-" || operands[0].Text == "" || words[0].Text == "popd" {
		p.known = false
		return
	}
	if path.IsAbs(operands[0].Text) {
		p.dir = path.Clean(operands[0].Text)
		return
	}
	p.dir = path.Join(p.dir, operands[0].Text)
}

func changes(word string) bool {
	return word == "cd" || word == "chdir" || word == "pushd" || word == "popd"
}
