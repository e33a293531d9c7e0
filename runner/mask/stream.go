package mask

import (
	"cmp"
	"slices"
)

// piece bounds what is looked at before what is decided goes out.
const piece = 32 << 10

// Stream masks what is written to it and hands it on. It holds back only what
// may still become a value. One goroutine uses a Stream.
type Stream struct {
	set      *Set
	out      func([]byte)
	decoders []decoder
	pos      int64  // bytes that were written
	buf      []byte // of which buf[head:] is not decided
	head     int
	found    []span
	until    int64 // end of what the last label stands for
}

// Stream masks for out, which must not keep its argument.
func (s *Set) Stream(out func([]byte)) *Stream {
	w := &Stream{set: s, out: out}
	if s == nil {
		return w
	}
	m := func() machine { return machine{a: s.a, found: &w.found} }
	w.decoders = []decoder{&plain{m()}, &percent{machine: m()}, &percent{machine: m(), form: true}, &escaped{machine: m()},
		&hexadecimal{machine: m()}, &hexadecimal{machine: m(), odd: true}}
	for phase := range 4 {
		w.decoders = append(w.decoders, &base64{machine: m(), phase: phase})
	}
	return w
}

// Write takes the next bytes. It never fails.
func (w *Stream) Write(p []byte) (int, error) {
	if w.set == nil {
		w.out(p)
		return len(p), nil
	}
	for part := range slices.Chunk(p, piece) {
		w.put(part)
		w.flush(w.decided())
	}
	return len(p), nil
}

func (w *Stream) put(p []byte) {
	for _, d := range w.decoders {
		d.put(p, w.pos)
	}
	w.pos += int64(len(p))
	w.buf = append(w.buf, p...)
}

// Close hands on the rest. What is a value's beginning and not its end goes too.
func (w *Stream) Close() {
	for _, d := range w.decoders {
		d.end()
	}
	w.flush(w.pos)
	clear(w.buf[:cap(w.buf)])
	w.buf, w.head = nil, 0
}

// decided is the offset before which no more value can begin.
func (w *Stream) decided() int64 {
	at := w.pos
	for _, d := range w.decoders {
		at = min(at, d.since())
	}
	return at
}

// flush hands on what stands before an offset. Values that overlap have one
// label, that of the first; the order in which decoders found them, and so the
// result, does not depend on how the stream was cut.
func (w *Stream) flush(before int64) {
	slices.SortStableFunc(w.found, func(x, y span) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to), cmp.Compare(x.owner, y.owner))
	})
	n := 0
	for _, f := range w.found {
		if f.from >= w.until {
			if f.from > before {
				break
			}
			w.emit(f.from)
			w.out([]byte(w.set.labels[f.owner]))
		}
		w.until = max(w.until, f.to)
		n++
	}
	w.found = slices.Delete(w.found, 0, n)
	if len(w.found) > 0 {
		before = min(before, w.found[0].from)
	}
	w.emit(before)
}

// emit hands on the bytes before an offset but those that a label stands for.
func (w *Stream) emit(before int64) {
	start := w.pos - int64(len(w.buf)-w.head)
	if n := min(w.until, w.pos) - start; n > 0 {
		w.head += int(n)
		start += n
	}
	if n := before - start; n > 0 {
		w.out(w.buf[w.head : w.head+int(n)])
		w.head += int(n)
	}
	if w.head > len(w.buf)/2 {
		w.buf, w.head = w.buf[:copy(w.buf, w.buf[w.head:])], 0
	}
}
