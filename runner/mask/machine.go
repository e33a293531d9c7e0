package mask

import "math"

// never is later than every offset of a stream.
const never = math.MaxInt64

// span is a value that was found, by offsets in the stream.
type span struct {
	from, to int64
	owner    int32
}

// machine follows one way to decode the stream. It remembers where in the stream
// each byte of what may become a value began.
type machine struct {
	a      *automaton
	found  *[]span
	state  int32
	starts []int64 // from head on: one for each byte of the state's depth
	head   int
	last   int64 // end of the last byte
}

// step takes a decoded byte that stands at [from, to) of the stream.
// Most bytes begin nothing, and this is small enough to stand where it is called.
func (m *machine) step(c byte, from, to int64) {
	if m.state|m.a.root[c] != 0 {
		m.move(c, from, to)
	}
}

func (m *machine) move(c byte, from, to int64) {
	m.state = m.a.move(m.state, c)
	if m.state == 0 {
		m.starts, m.head = m.starts[:0], 0
		return
	}
	m.starts, m.last = append(m.starts, from), to
	m.head = len(m.starts) - int(m.a.depth[m.state])
	if n := int(m.a.found[m.state]); n > 0 {
		*m.found = append(*m.found, span{m.starts[len(m.starts)-n], to, m.a.owner[m.state]})
	}
	if m.head > 1024 && m.head > len(m.starts)/2 {
		m.starts, m.head = m.starts[:copy(m.starts, m.starts[m.head:])], 0
	}
}

// reset is for what cannot be decoded this way.
func (m *machine) reset() { m.state, m.starts, m.head = 0, m.starts[:0], 0 }

// since is where the part of a value that was seen last begins.
func (m *machine) since() int64 {
	if m.state == 0 {
		return never
	}
	return m.starts[m.head]
}

// end finds the part of a value that the end of the stream cuts off.
func (m *machine) end() {
	if m.state != 0 && m.a.depth[m.state] >= MinBytes {
		*m.found = append(*m.found, span{m.starts[m.head], m.last, m.a.owner[m.first(m.state)]})
	}
}

// first is a node below at at which a pattern ends: whose beginning it is.
func (m *machine) first(at int32) int32 {
	for m.a.found[at] < m.a.depth[at] {
		at = m.a.child[at]
	}
	return at
}
