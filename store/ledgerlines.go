package store

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store/merkle"
)

// apartLines is how many leaves are worth a processor of their own.
const apartLines = 1024

// encode makes the lines of a batch. They are hashed as they are in memory: a root
// speaks of what was appended, not of what somebody has made of it since. A first start
// has a line for each of perhaps a million ops: those go to every processor.
func (e *entry) encode(leaves []*record.Leaf) error {
	workers := min(runtime.GOMAXPROCS(0), 1+len(leaves)/apartLines)
	parts, errs := make([]entry, workers), make([]error, workers)
	var all sync.WaitGroup
	for i := 1; i < workers; i++ {
		all.Go(func() { errs[i] = parts[i].encodeSome(share(leaves, i, workers)) })
	}
	errs[0] = e.encodeSome(share(leaves, 0, workers))
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return err // the first one in the order of the leaves
		}
		e.batch = append(e.batch, parts[i].batch...)
		e.lengths = append(e.lengths, parts[i].lengths...)
		e.hashes = append(e.hashes, parts[i].hashes...)
	}
	return nil
}

// share is the part of a worker, in the order of the workers.
func share(leaves []*record.Leaf, i, workers int) []*record.Leaf {
	return leaves[i*len(leaves)/workers : (i+1)*len(leaves)/workers]
}

func (e *entry) encodeSome(leaves []*record.Leaf) error {
	for _, leaf := range leaves {
		if record.ParseStamp(leaf.Time).IsZero() {
			return fmt.Errorf("leaf of kind %q has no time: %q", leaf.Kind, leaf.Time)
		}
		line, err := leaf.Encode()
		if err != nil {
			return err
		}
		e.batch = append(append(e.batch, line...), '\n')
		e.lengths = append(e.lengths, int64(len(line))+1)
		e.hashes = append(e.hashes, merkle.LeafHash(line))
	}
	return nil
}
