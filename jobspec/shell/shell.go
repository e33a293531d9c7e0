package shell

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Dialect is the language that the shell at hand reads.
type Dialect uint8

// The dialects. POSIX is what dash and other plain shells read.
const (
	POSIX Dialect = iota
	Bash
	Korn
	Zsh
)

func (d Dialect) variant() syntax.LangVariant {
	switch d {
	case Bash:
		return syntax.LangBash
	case Korn:
		return syntax.LangMirBSDKorn
	case Zsh:
		return syntax.LangZsh
	default:
		return syntax.LangPOSIX
	}
}

// Word is one word of a command with its quotes taken off.
type Word struct {
	Text    string // the literal value; as written where it is dynamic
	Dynamic bool   // only the shell knows the value
}

// Assign is NAME=VALUE before a command, alone, or of a builtin that sets a
// variable.
type Assign struct {
	Name    string
	Value   Word
	Command string // the command that it stands before, "" for none
}

// Command is one simple command, or with no Words the redirections of a
// compound one.
type Command struct {
	Words   []Word
	Assigns []Assign
	Here    string // text of a here-document or here-string, with HasHere
	HasHere bool
	From    Word   // file that standard input is read from, "" for none
	Writes  []Word // files that redirections open for writing
	Feeds   bool   // its output goes into a pipe
	// Dir is the folder that it starts in, relative to where the text starts or
	// absolute. It is known only while each cd before it is.
	Dir      string
	DirKnown bool
}

// ErrUnreadable is in the chain of every error of Read.
var ErrUnreadable = errors.New("the text cannot be read to its end")

// Read lists the commands of a text, outer before inner ones.
func Read(text string, d Dialect) (found []Command, err error) {
	defer func() {
		if cause := recover(); cause != nil { // a defect of the parser must not pass for an empty text
			found, err = nil, fmt.Errorf("%w: %v", ErrUnreadable, cause)
		}
	}()
	w, err := read(text, d, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return w.found, nil
}

// maxReparse bounds how often backquotes inside backquotes are read anew.
const maxReparse = 8

func read(text string, d Dialect, again int) (*walker, error) {
	if strings.ContainsAny(text, "\r\x00") {
		// The parser takes CR LF for a line end and shells do not: a backslash
		// before it would hide the next line.
		return nil, errors.New("it holds a carriage return or NUL")
	}
	file, err := syntax.NewParser(syntax.Variant(d.variant())).Parse(&shallow{text: text}, "")
	if err != nil {
		return nil, err
	}
	w := &walker{text: text, dialect: d, again: again}
	w.moves = movesFolder(file)
	st := &place{dir: ".", known: !w.moves.inFunction}
	w.stmts(file.Stmts, st)
	return w, w.err
}
