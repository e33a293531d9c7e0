package cli

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/crontab"
	"github.com/sbxcron/sbxcron/jobspec"
)

// shells read a plain line as any of them does: as words between blanks.
var shells = []string{"sh", "dash", "bash", "ash", "ksh", "mksh", "zsh"}

// onlyInShells are the first words that name no program, or one that does less
// than what a shell does.
var onlyInShells = strings.Fields(". : cd exec eval source export set unset umask ulimit trap wait type command builtin read shift return" +
	" exit hash alias times jobs bg fg local readonly let declare typeset if for while until case select function time then do { }")

// changesFolder is the beginning of a command that could as well have a cwd.
var changesFolder = regexp.MustCompile(`^cd[ \t]+(/[A-Za-z0-9_./@+-]+)[ \t]*&&[ \t]*(.+)$`)

// commandOf writes a line as argv where no shell is needed to read it, else as an
// embedded script for its shell, which is what crond does with every line.
func commandOf(d *jobspec.Draft, e crontab.Entry) ([]string, *crontab.Problem) {
	command, shell := e.Command, cmp.Or(e.Var("SHELL"), "/bin/sh")
	if !path.IsAbs(shell) {
		return nil, &crontab.Problem{Code: codeShellRelative, Detail: fmt.Sprintf("SHELL is %q", shell), Hint: "write the whole path of the shell"}
	}
	var notes []string
	known := slices.Contains(shells, path.Base(shell))
	if m := changesFolder.FindStringSubmatch(command); known && m != nil && path.Clean(m[1]) != "/" {
		d.Cwd, command = path.Clean(m[1]), m[2]
		notes = append(notes, `its folder is read-only: write tier = "workspace" if it writes there`)
	}
	words := plainWords(command)
	if !known || words == nil {
		d.Script = jobspec.Script{Interpreter: path.Clean(shell), Body: command + "\n"}
		return append(notes, inHome(d)...), tooLongBody(d.Script.Body)
	}
	if d.Cwd == "" && !path.IsAbs(words[0]) && strings.Contains(words[0], "/") {
		return nil, &crontab.Problem{Code: codeProgramRelative, Detail: fmt.Sprintf("%q begins at the home folder, where crond starts a job and sbxcron does not", words[0]),
			Hint: "write the whole path, or cd /DIR && before it"}
	}
	d.Command = words
	return append(notes, inHome(d)...), nil
}

func inHome(d *jobspec.Draft) []string {
	if d.Cwd != "" {
		return nil
	}
	return []string{"it starts in an empty folder of its own; give it a cwd if it reads or writes files by relative names"}
}

func tooLongBody(body string) *crontab.Problem {
	if len(body) <= jobspec.MaxScriptBytes {
		return nil
	}
	return &crontab.Problem{Code: crontab.CodeTooLong, Detail: "the command is longer than a script may be", Hint: "put it into a script of its own"}
}

// plainWords are the words of a command in which no character means anything to
// a shell, nil for any other command.
func plainWords(command string) []string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,=- \t"
	words := strings.Fields(command)
	if strings.Trim(command, plain) != "" || len(words) == 0 || strings.Contains(words[0], "=") || slices.Contains(onlyInShells, words[0]) {
		return nil
	}
	return words
}

// saysLittle are programs that name no job.
var saysLittle = strings.Fields("test [ echo printf sleep nice ionice env nohup flock timeout true false sh bash dash chronic")

// programOf is what a draft runs: the program, or the first command of its script
// that says something.
func programOf(d *jobspec.Draft) string {
	if len(d.Command) > 0 {
		return d.Command[0]
	}
	parts, err := jobspec.Parts(nil, d.Script)
	if err != nil || len(parts) < 2 {
		if words := strings.Fields(d.Script.Body); len(words) > 0 {
			return words[0]
		}
		return "" // blanks that crond takes for a command
	}
	first := ""
	for _, p := range parts[1:] {
		if len(p) == 0 {
			continue
		}
		first = cmp.Or(first, p[0])
		if word := path.Base(p[0]); !slices.Contains(saysLittle, word) && !slices.Contains(onlyInShells, word) {
			return p[0]
		}
	}
	return first
}
