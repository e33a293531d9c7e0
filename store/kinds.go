package store

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/sbxcron/sbxcron/jobspec/record"
)

// leafHead begins every line; the host and the kind follow.
const leafHead = `{"type":"` + record.LeafType + `",`

// kindOf reads the kind from the head of a line, where it stands in the form that our
// encoder gives it. False: the line must be decoded to tell.
func kindOf(line []byte) (kind []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(leafHead))
	if !ok {
		return nil, false
	}
	if host, has := bytes.CutPrefix(rest, []byte(`"host":"`)); has {
		end := bytes.IndexByte(host, '"')
		if end < 0 || bytes.IndexByte(host[:end], '\\') >= 0 {
			return nil, false
		}
		if rest, ok = bytes.CutPrefix(host[end+1:], []byte(",")); !ok {
			return nil, false
		}
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`"kind":"`)); !ok {
		return nil, false
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return nil, false
	}
	return rest[:end], true
}

// ScanKinds is Scan for the leaves of some kinds. The others are read and not decoded:
// with a million lines that takes a second in place of ten. It asks the ledger itself
// and no index.
func (h *History) ScanKinds(from int64, kinds []record.Kind, fn func(Leaf) error) error {
	return h.ScanLines(from, func(index int64, line []byte) error {
		if kind, ok := kindOf(line); ok && !slices.Contains(kinds, record.Kind(kind)) {
			return nil
		}
		kept := bytes.Clone(line)
		leaf, err := record.Decode(kept)
		if err != nil {
			return h.damageAt(index, err)
		}
		if !slices.Contains(kinds, leaf.Kind) {
			return nil
		}
		return fn(Leaf{Index: index, Line: kept, Leaf: leaf})
	})
}

// damageAt names the place of a leaf that cannot be decoded.
func (h *History) damageAt(index int64, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.segments {
		if index < s.first+s.count {
			s.count = index - s.first
			return s.damage(h.dirs, err)
		}
	}
	return fmt.Errorf("ledger leaf %d: %w", index, err)
}
