package jobspec

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// Outline is an op without the better part of its spec: what a chain of ops adds up
// to, and when its jobs are due. It chooses what to verify and grants nothing.
type Outline struct {
	Op        Op // without its spec
	HasSpec   bool
	Schedule  Schedule // of the spec; the zero value where it could not be read
	ExpiresAt Instant
	known     *knownSchedule // Schedule as other ops have it too, nil where it was read alone
}

// Outliner reads outlines. It keeps what many ops share, so one that reads a whole
// chain makes few strings. The zero value is ready; one goroutine uses it.
type Outliner struct {
	schedules *scheduleMemo
	last      Op // whose words are used again where they are the same
}

// Another returns a reader for another goroutine, which shares the schedules.
func (r *Outliner) Another() *Outliner { return &Outliner{schedules: r.memo()} }

func (r *Outliner) memo() *scheduleMemo {
	if r.schedules == nil {
		r.schedules = &scheduleMemo{}
	}
	return r.schedules
}

// Read reads an op as DecodeOp does, but for the spec, of which it reads schedule and
// expiry and skips the rest. What DecodeOp accepts, Read accepts, with the same
// result; of the members beside the spec it accepts nothing else. A spec that
// DecodeOp would refuse may pass: it is read in full before it runs.
func (r *Outliner) Read(b []byte) (Outline, error) {
	if len(b) <= MaxOpBytes {
		s := outlineScan{b: b, r: r}
		if s.op() && s.i == len(b) {
			r.last = s.out.Op
			return s.out, nil
		}
	}
	op, err := DecodeOp(b) // it knows every spelling, and every reason to refuse one
	if err != nil {
		return Outline{}, err
	}
	o := Outline{Op: *op, HasSpec: op.Spec != nil}
	if o.HasSpec {
		o.Schedule, o.ExpiresAt = op.Spec.Schedule, op.Spec.ExpiresAt
	}
	o.Op.Spec = nil
	return o, nil
}

// outlineScan walks over an op. Each step is true where it found exactly what the
// encoder writes there; the first one that is not leaves the op to DecodeOp.
type outlineScan struct {
	b   []byte
	i   int
	r   *Outliner
	out Outline
}

// outlineMembers are the members that the scan knows, in their order. An op with
// another one, as genesis has, is left to DecodeOp.
var outlineMembers = []string{"type", "host", "seq", "prev", "action", "job", "revision", "created", "apply_before", "principal", "tier", "net", "spec", "target", "checkpoint"}

func (s *outlineScan) op() bool {
	next := 0
	return s.object(func(name []byte) bool {
		for i := next; i < len(outlineMembers); i++ {
			if outlineMembers[i] == string(name) {
				next = i + 1
				return s.member(outlineMembers[i])
			}
		}
		return false
	})
}

func (s *outlineScan) member(name string) bool {
	op, last := &s.out.Op, &s.r.last
	switch name {
	case "type":
		return s.word(&op.Type, OpType) && op.Type == OpType
	case "host":
		return s.word((*string)(&op.Host), string(last.Host))
	case "seq":
		return s.integer(&op.Seq)
	case "prev":
		return s.digest(&op.Prev)
	case "action":
		return s.word((*string)(&op.Action), string(last.Action))
	case "job":
		return s.word((*string)(&op.Job), string(last.Job))
	case "revision":
		return s.integer(&op.Revision)
	case "created":
		return s.instant(&op.Created)
	case "apply_before":
		return s.instant(&op.ApplyBefore)
	case "principal":
		return s.word((*string)(&op.Principal), string(last.Principal))
	case "tier":
		word, ok := s.plain()
		return ok && op.Tier.UnmarshalText(word) == nil
	case "net":
		word, ok := s.plain()
		return ok && op.Net.UnmarshalText(word) == nil
	case "spec":
		s.out.HasSpec = true
		return s.spec()
	case "target":
		return s.digest(&op.Target)
	case "checkpoint":
		return s.note(&op.Checkpoint, last.Checkpoint)
	}
	return false
}

// note reads a text of lines, as a checkpoint is. Where it is the one before, that
// one is used.
func (s *outlineScan) note(out *string, before string) bool {
	from := s.i
	if from >= len(s.b) || s.b[from] != '"' || !s.skipString() {
		return false
	}
	raw := s.b[from+1 : s.i-1]
	if !utf8.Valid(raw) || bytes.ContainsFunc(raw, func(r rune) bool { return r < ' ' }) {
		return false
	}
	lines := bytes.ReplaceAll(raw, []byte(`\u000a`), []byte("\n"))
	if len(lines) == 0 || bytes.IndexByte(lines, '\\') >= 0 {
		return false // other escapes are left to DecodeOp
	}
	if *out = before; string(lines) != before {
		*out = string(lines)
	}
	return true
}

// spec skips a spec but for the two members that are wanted. The value of an odd one
// stays zero: then the job has no due time, which says so.
func (s *outlineScan) spec() bool {
	return s.object(func(name []byte) bool {
		switch string(name) {
		case "schedule":
			from := s.i
			if !s.skip() {
				return false
			}
			s.out.Schedule = Schedule{}
			if s.out.known = s.r.memo().read(s.b[from:s.i]); s.out.known != nil {
				s.out.Schedule = s.out.known.Schedule
			}
			return true
		case "expires_at":
			from := s.i
			if s.instant(&s.out.ExpiresAt) {
				return true
			}
			s.i = from
		}
		return s.skip()
	})
}

func (s *outlineScan) take(c byte) bool {
	if s.i >= len(s.b) || s.b[s.i] != c {
		return false
	}
	s.i++
	return true
}

// object walks over the members of an object that has at least one.
func (s *outlineScan) object(member func(name []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	for {
		name, ok := s.plain()
		if !ok || !s.take(':') || !member(name) {
			return false
		}
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

// plain reads a string of printable ASCII without escapes.
func (s *outlineScan) plain() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	from := s.i
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.b[from : s.i-1], s.i-1 > from
		case c < ' ' || c > '~' || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

// word reads a plain string. Where it is the one before, that one is used.
func (s *outlineScan) word(out *string, before string) bool {
	b, ok := s.plain()
	if *out = before; ok && string(b) != before {
		*out = string(b)
	}
	return ok
}

func (s *outlineScan) integer(out *int64) bool {
	from := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	if s.i == from || s.b[from] == '0' || s.i-from > 15 {
		return false
	}
	n, err := strconv.ParseInt(string(s.b[from:s.i]), 10, 64)
	*out = n
	return err == nil
}

// text takes a string of n plain bytes, of which others than quotes and escapes are the
// caller's to judge.
func (s *outlineScan) text(n int) ([]byte, bool) {
	end := s.i + n + 1
	if end >= len(s.b) || s.b[s.i] != '"' || s.b[end] != '"' {
		return nil, false
	}
	b := s.b[s.i+1 : end]
	s.i = end + 1
	return b, true
}

func (s *outlineScan) digest(out *Digest) bool {
	b, ok := s.text(digestChars)
	return ok && out.UnmarshalText(b) == nil && !out.IsZero()
}

func (s *outlineScan) instant(out *Instant) bool {
	b, ok := s.text(len(instantLayout))
	if ok {
		*out, ok = parseInstant(b)
	}
	return ok
}

// skip passes over any value: strings as a whole, and what lies between brackets.
func (s *outlineScan) skip() bool {
	depth := 0
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			if !s.skipString() {
				return false
			}
			if depth == 0 {
				return true
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return true // the end of a number, and of what holds it
			}
			if depth--; depth == 0 {
				s.i++
				return true
			}
		case ',':
			if depth == 0 {
				return true
			}
		}
		s.i++
	}
	return false
}

func (s *outlineScan) skipString() bool {
	s.i++
	for {
		n := bytes.IndexByte(s.b[s.i:], '"')
		if n < 0 {
			return false
		}
		part := s.b[s.i : s.i+n]
		s.i += n + 1
		escapes := 0
		for escapes < len(part) && part[len(part)-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return true
		}
	}
}
