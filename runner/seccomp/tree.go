package seccomp

import (
	"fmt"
	"slices"

	"golang.org/x/net/bpf"
)

// span is what becomes of the calls from one number up to where the next span
// begins: code that ends with an answer on each of its ways.
type span struct {
	from uint32
	code []bpf.Instruction
}

// spans lays the rules out over all numbers, from 0 to the largest. What no rule
// is about passes; numbers from end on get last.
func (a Arch) spans(all []rule, end uint32, last Action) ([]span, error) {
	ruled := map[uint32][]rule{}
	for _, r := range all {
		if !a.has(r.call) {
			continue
		}
		nr, err := a.Number(r.call)
		if err != nil {
			return nil, err
		}
		if nr >= end {
			return nil, fmt.Errorf("%s has number %d, which is answered before any rule", r.call, nr)
		}
		ruled[nr] = append(ruled[nr], r)
	}
	var cut []span
	for nr := range end {
		cut = extend(cut, span{nr, compile(ruled[nr])})
	}
	return extend(cut, span{end, []bpf.Instruction{answer(last)}}), nil
}

// extend adds a span, or lets the one before it go on where both do the same.
func extend(cut []span, s span) []span {
	if n := len(cut); n > 0 && slices.Equal(cut[n-1].code, s.code) {
		return cut
	}
	return append(cut, s)
}

// tree finds the span of the number in A by halves. The kernel walks a filter
// once for every number when it is loaded, to know which calls always pass
// (seccomp_cache_prepare): one comparison after the other would make each
// loading cost numbers times rules.
func tree(cut []span) []bpf.Instruction {
	if len(cut) == 1 {
		return cut[0].code
	}
	mid := len(cut) / 2
	below, above := tree(cut[:mid]), tree(cut[mid:])
	fork := []bpf.Instruction{skipIf(bpf.JumpGreaterOrEqual, cut[mid].from, len(below))}
	if len(below) > maxSkip {
		fork = []bpf.Instruction{skipUnless(bpf.JumpGreaterOrEqual, cut[mid].from, 1), bpf.Jump{Skip: uint32(len(below))}}
	}
	return slices.Concat(fork, below, above)
}

// maxSkip is how far a conditional jump reaches.
const maxSkip = 255
