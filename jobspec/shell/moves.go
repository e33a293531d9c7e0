package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// moves says whether a text changes its folder, and whether a function does.
type moves struct {
	anywhere, inFunction bool
}

func movesFolder(file *syntax.File) moves {
	m := moves{anywhere: moved(file)}
	syntax.Walk(file, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncDecl); ok && moved(f.Body) {
			m.inFunction = true
		}
		return true
	})
	return m
}

// moved reports whether a cd stands anywhere below the node. A cd that hides in
// an eval is dynamic, which is asked about.
func moved(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			for _, a := range c.Args {
				found = found || changes(strings.ReplaceAll(a.Lit(), "\\", ""))
			}
		}
		return !found
	})
	return found
}

// ends reports whether a statement leaves the shell or the function.
func ends(s *syntax.Stmt) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return false
	}
	word := c.Args[0].Lit()
	return word == "exit" || word == "return"
}

// backquoted takes the quotes and one level of backslashes off `...`. Between
// double quotes that level covers the double quote too.
func backquoted(source string, quoted bool) (text string, escaped bool) {
	level := "$`\\"
	if quoted {
		level += "\""
	}
	source = strings.TrimSuffix(strings.TrimPrefix(source, "`"), "`")
	var b strings.Builder
	for i := 0; i < len(source); i++ {
		if source[i] == '\\' && i+1 < len(source) && strings.IndexByte(level, source[i+1]) >= 0 {
			escaped = true
			i++
		}
		b.WriteByte(source[i])
	}
	return b.String(), escaped
}
