package jobspec

import "slices"

// Parts lists the commands that would run, as far as they can be read: argv or
// the interpreter of an embedded script first, then what it starts, each word by
// word. It is an error, a *FieldError, where a text cannot be read to its end or
// nests too deeply; such a job is refused. A command that only the running shell
// knows is in no list; such a job is asked about.
func Parts(argv []string, script Script) ([][]string, error) {
	r := readCommand(argv, script, "")
	var parts [][]string
	for _, s := range r.segments {
		parts = append(parts, slices.Clone(s.words))
	}
	for _, f := range r.findings {
		if f.code == CodeCmdUnparseable || f.code == CodeCmdWrapperDepth {
			return parts, &FieldError{Reason: f.code, Field: "command " + QuoteAll(f.words), Detail: f.text}
		}
	}
	return parts, nil
}
