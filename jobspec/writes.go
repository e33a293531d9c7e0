package jobspec

import (
	"path"
	"slices"
	"strings"
)

// privatePlaces are writable in every sandbox and gone after the run.
func privatePlaces() []string { return []string{"/tmp", JobHome, "/scratch"} }

// writing records a file that an option names for writing.
func (r *reading) writing(name string, words []string, c around) {
	r.writes = append(r.writes, writing{path: name, at: c.at, words: slices.Clone(words)})
}

// writesOf finds the files that common programs are told to write by an operand
// or option, as a redirection would.
func (r *reading) writesOf(words []string, c around) {
	switch baseName(words[0]) {
	case "tee":
		for i, w := range words[1:] {
			if w == "--" || !strings.HasPrefix(w, "-") {
				r.eachWriting(words[i+1:], words, c)
				return
			}
		}
	case "dd":
		for _, w := range words[1:] {
			if to, ok := strings.CutPrefix(w, "of="); ok {
				r.writing(to, words, c)
			}
		}
	case "sort", "time":
		for i, w := range words[1:] {
			switch {
			case (w == "-o" || w == "--output") && i+2 < len(words):
				r.writing(words[i+2], words, c)
			case strings.HasPrefix(w, "--output="):
				r.writing(strings.TrimPrefix(w, "--output="), words, c)
			case len(w) > 2 && strings.HasPrefix(w, "-o"):
				r.writing(w[2:], words, c)
			case baseName(words[0]) == "time" && !strings.HasPrefix(w, "-"):
				return // the command begins
			}
		}
	}
}

func (r *reading) eachWriting(names, words []string, c around) {
	for _, name := range names {
		if name != "--" && !strings.HasPrefix(name, "$") && !strings.HasPrefix(name, ">(") {
			r.writing(name, words, c)
		}
	}
}

// writings holds what the command writes against what the job may write. The
// mounts have the last word; this says at add what they would say at night.
func (j *judge) writings() {
	for _, w := range j.read.writes {
		p, known := j.written(w)
		switch {
		case !known && !w.quiet:
			j.rule(finding{effect: effectAsk, code: ruleWriteUnknown.code, layer: LayerFloor, rule: ruleWriteUnknown.id, text: ruleWriteUnknown.text, words: w.words})
		case known && !j.mayWrite(p):
			j.finding(Check{Code: ruleWrite.code, Layer: LayerFloor, Rule: ruleWrite.id, Target: Quote(p), Detail: ruleWrite.text})
		}
	}
}

// written is the whole path of what is written, false where only the shell
// knows it.
func (j *judge) written(w writing) (string, bool) {
	if w.dynamic || w.path == "" {
		return "", false
	}
	if path.IsAbs(w.path) {
		return path.Clean(w.path), true
	}
	if !w.at.known {
		return "", false
	}
	if path.IsAbs(w.at.dir) {
		return path.Join(w.at.dir, w.path), true
	}
	return path.Join(orElse(j.spec.Cwd.Path, "/scratch"), w.at.dir, w.path), true
}

func (j *judge) mayWrite(p string) bool {
	switch {
	case p == "/dev/null", p == "/dev/stdout", p == "/dev/stderr", p == "/dev/zero", p == "/dev/full", pathWithin(p, "/dev/fd"), pathWithin(p, "/proc/self/fd"):
		return true
	}
	open, shut := j.writable()
	best, allowed := "", false
	for _, folder := range open {
		if pathWithin(p, folder) && len(folder) >= len(best) {
			best, allowed = folder, true
		}
	}
	for _, folder := range shut {
		if pathWithin(p, folder) && len(folder) >= len(best) {
			best, allowed = folder, false
		}
	}
	return allowed
}

// writable lists the places inside that the job may write, and those that it may
// only read or not even see. The longest one above a path decides.
func (j *judge) writable() (open, shut []string) {
	s := j.spec
	open = append(privatePlaces(), s.Write...)
	if j.op.Tier == Workspace && s.Cwd.Path != "" {
		open = append(open, s.Cwd.Path)
	}
	if s.StateDir {
		open = append(open, StatePlace)
	}
	shut = slices.Concat(s.Read, s.Deny)
	for _, b := range s.Bind {
		switch at := b.Inside(); {
		case at == "": // it names no place and is refused
		case b.Mode == BindRW:
			open = append(open, at)
		default:
			shut = append(shut, at)
		}
	}
	return open, shut
}
