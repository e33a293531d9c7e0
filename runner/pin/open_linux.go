package pin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Open opens every requested path with the rights of acct and holds what it
// opened. A path that cannot be used is an observation with a problem; an error
// means that nothing is known about any path (no child could be started, ctx
// ended), and then nothing is held.
//
// The end of ctx ends a copy or a hash; with Drop it also ends an open that a
// file system holds up.
func Open(ctx context.Context, acct Account, reqs []Request, o Options) (*Set, error) {
	began := time.Now()
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	table, err := parseMounts(raw)
	if err != nil {
		return nil, err
	}
	who, err := newOpener(ctx, acct, table, o)
	if err != nil {
		return nil, err
	}
	s, err := openAll(ctx, who, reqs, table, o)
	if err := errors.Join(err, who.close()); err != nil {
		if s != nil {
			s.Close()
		}
		return nil, err
	}
	s.began, s.mounts, s.table = began, raw, table
	return s, nil
}

func openAll(ctx context.Context, who opener, reqs []Request, table mounts, o Options) (*Set, error) {
	s := &Set{}
	left := room{File: o.maxBytes(), Copies: o.maxBytes()}
	for _, r := range reqs {
		if t := checkPath(r.Path); t.Why != whyNone {
			s.pins = append(s.pins, held{seen: t.observation(r, "")})
			continue
		}
		p, err := who.open(ctx, r, left)
		if err != nil {
			return s, err
		}
		h, err := observe(ctx, r, p, table, left, o)
		if err != nil {
			return s, fmt.Errorf("open %q: %w", r.Path, err)
		}
		if h.sealed {
			left.Copies -= h.seen.Size
		}
		s.pins = append(s.pins, h)
	}
	return s, nil
}
