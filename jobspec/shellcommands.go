package jobspec

import "strings"

// shellCommand is one simple command of a shell text.
type shellCommand struct {
	words   []shellWord
	assigns []string // NAME=VALUE before the command
	here    bool     // fed by a here-document, which is part of the text
}

// reserved are the words after which a command begins anew.
const reserved = " if then elif else while until do ! time { } fi done esac in "

// shellCommands finds the simple commands of a text, those in groups, branches,
// loops, functions and substitutions included.
func shellCommands(text string) ([]shellCommand, error) {
	words, err := shellWords(text, 0)
	if err != nil {
		return nil, err
	}
	p := &commandFinder{}
	for _, w := range words {
		p.take(w)
	}
	p.end()
	for len(p.outer) > 0 {
		p.leave()
	}
	return p.found, nil
}

// commandFinder is the state of the walk: the command being collected, and
// whether the words at hand are data of a for or patterns of a case.
type commandFinder struct {
	found   []shellCommand
	current shellCommand
	outer   []shellCommand // commands around the substitution being read
	list    bool           // after "for" or "select", up to the separator
	subject bool           // after "case", up to "in"
	cases   int            // open case constructs
	pattern bool           // a pattern is due, up to ")"
	name    bool           // after "function"
}

func (p *commandFinder) take(w shellWord) {
	switch {
	case w.sep:
		p.separator(w.text)
	case w.here:
		p.current.here = true
	case p.name:
		p.name = false
	case p.list:
	case p.subject:
		if w.text == "in" {
			p.subject, p.pattern = false, true
			p.cases++
		}
	case p.pattern:
		if w.text == "esac" && !w.quoted {
			p.esac()
		}
	default:
		p.word(w)
	}
}

func (p *commandFinder) separator(s string) {
	switch {
	case s == "$(":
		p.outer = append(p.outer, p.current)
		p.current = shellCommand{}
		return
	case s == "$)":
		p.leave()
		return
	case p.pattern && s == ")":
		p.pattern = false
		return
	case p.pattern:
		return
	}
	p.list = false
	p.end()
	if p.cases > 0 && strings.HasPrefix(s, ";") && len(s) > 1 {
		p.pattern = true
	}
}

// leave ends a substitution and goes on with the command around it.
func (p *commandFinder) leave() {
	p.end()
	if n := len(p.outer); n > 0 {
		p.current, p.outer = p.outer[n-1], p.outer[:n-1]
	}
}

func (p *commandFinder) esac() {
	p.pattern = false
	p.cases = max(0, p.cases-1)
}

func (p *commandFinder) word(w shellWord) {
	first := len(p.current.words) == 0
	if first && !w.quoted && !w.dynamic {
		switch {
		case w.text == "for" || w.text == "select":
			p.list = true
			return
		case w.text == "case":
			p.subject = true
			return
		case w.text == "esac":
			p.esac()
			return
		case w.text == "function":
			p.name = true
			return
		case strings.Contains(reserved, " "+w.text+" "):
			return
		}
	}
	if name, _, ok := strings.Cut(w.text, "="); first && ok && isEnvName(strings.TrimSuffix(name, "+")) {
		p.current.assigns = append(p.current.assigns, w.text)
		return
	}
	p.current.words = append(p.current.words, w)
}

func (p *commandFinder) end() {
	if len(p.current.words) > 0 || len(p.current.assigns) > 0 {
		p.found = append(p.found, p.current)
	}
	p.current = shellCommand{}
}
