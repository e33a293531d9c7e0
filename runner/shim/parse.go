package shim

import (
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Attempt is what somebody in a job says that it tried.
type Attempt struct {
	Code jobspec.Code // one of Codes
	Argv []string     // the name, then the arguments, each cut; never empty
}

// Parser takes the bytes of the pipe, in pieces of any size. What it holds is
// bounded, whatever comes. The zero value is ready.
type Parser struct {
	field  []byte
	fields []string
	inside bool
}

// Feed gives every attempt that p completes to emit. Bytes that belong to no
// attempt are dropped. An attempt that another one interrupts counts as far as
// it came, so that half an attempt cannot swallow the next one.
func (p *Parser) Feed(b []byte, emit func(Attempt)) {
	for _, c := range b {
		if c != 0 {
			if len(p.field) < MaxArgBytes {
				p.field = append(p.field, c)
			}
			continue
		}
		p.end(emit)
	}
}

// end takes one finished field.
func (p *Parser) end(emit func(Attempt)) {
	text := string(p.field)
	p.field = p.field[:0]
	switch {
	case text == markBegin:
		p.flush(emit)
		p.inside = true
	case text == markEnd:
		p.flush(emit)
	case p.inside && len(p.fields) < MaxArgs+2:
		p.fields = append(p.fields, text)
	}
}

// flush ends the attempt that was being read, if it says anything.
func (p *Parser) flush(emit func(Attempt)) {
	fields := p.fields
	p.fields, p.inside = nil, false
	if len(fields) < 2 || !slices.Contains(Codes(), jobspec.Code(fields[0])) {
		return
	}
	emit(Attempt{Code: jobspec.Code(fields[0]), Argv: fields[1:]})
}
