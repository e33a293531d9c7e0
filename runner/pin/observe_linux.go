package pin

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// observe turns what the holder of the rights opened into what is held and
// judged. Everything is asked of the descriptors again, since the other side may
// be a process that the account's other processes can reach. It takes p over.
func observe(ctx context.Context, r Request, p opened, table mounts, left room, o Options) (held, error) {
	defer p.close()
	if p.Why != whyNone {
		return held{seen: p.observation(r, p.kind)}, nil
	}
	m, t := checkOpened(r, p)
	if t.Why != whyNone {
		return held{seen: t.observation(r, m.kind)}, nil
	}
	where, err := p.chain.location(r.Path, table)
	if err != nil {
		return held{seen: movedOr(err).observation(r, m.kind)}, nil
	}
	h := held{seen: jobspec.Observation{
		Use: r.Use, Role: r.Role, Typed: r.Path, Real: r.Path,
		Kind: m.kind, UID: m.uid, Mode: m.mode &^ unix.S_ISVTX, Places: where,
	}}
	if r.Use != jobspec.UseBound {
		if m.kind == jobspec.KindRegular {
			h.seen.Size = m.size
		}
		h.file = p.takeLast()
		again, err := duplicate(h.file)
		if err != nil {
			h.file.Close()
			return held{}, err
		}
		h.keepOrigin(r, again, m)
		return h, nil
	}
	h, err = h.bind(ctx, r, p, m, table, left, o)
	if err == nil && h.file != nil {
		h.keepOrigin(r, p.takeLast(), m)
	}
	return h, err
}

// takeLast takes the last descriptor out of the chain.
func (p *opened) takeLast() *os.File {
	f := p.chain.last()
	p.chain = p.chain[:len(p.chain)-1]
	return f
}

// checkOpened asks the kernel whether the last descriptor can serve the use.
func checkOpened(r Request, p opened) (meta, trouble) {
	for _, f := range p.chain {
		// A descriptor with rights of reading or writing would carry them along.
		flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_PATH == 0 {
			return meta{}, trouble{Why: whyUnreachable}
		}
	}
	m, err := statFile(p.chain.last())
	if err != nil {
		return meta{}, troubleOf(err)
	}
	if !fits(r, m.kind) {
		return m, trouble{Why: whyKind}
	}
	return m, trouble{}
}

// movedOr reads EXDEV of location: somebody renamed a component meanwhile.
func movedOr(err error) trouble {
	if errors.Is(err, unix.EXDEV) {
		return trouble{Why: whyChanged}
	}
	return troubleOf(err)
}

// bind checks and hashes the content of a bound file and holds it on a
// descriptor that shares no offset with anybody.
func (h held) bind(ctx context.Context, r Request, p opened, m meta, table mounts, left room, o Options) (held, error) {
	refuse := func(t trouble) (held, error) { return held{seen: t.observation(r, m.kind)}, nil }
	if t := checkContent(p, m, table, left); t.Why != whyNone {
		return refuse(t)
	}
	f, err := reopen(p.content)
	if err != nil {
		return refuse(troubleOf(err))
	}
	h.file, h.sealed = f, p.sealed
	digest, size, err := h.digest(ctx, p.sealed, o)
	if err != nil {
		f.Close()
		if ctx.Err() != nil {
			return held{}, ctx.Err()
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return refuse(trouble{Why: whyChanged})
		}
		return refuse(troubleOf(err))
	}
	h.seen.SHA256, h.seen.Size = digest, size
	o.at(stageHashed)
	return h, nil
}

// checkContent decides whether the content may stand for the file: a memfd with
// all seals, or the very inode of the chain, which only root can change. The
// memfd's size is checked before a byte is read: its maker may have lied.
func checkContent(p opened, m meta, table mounts, left room) trouble {
	c, err := statFile(p.content)
	if err != nil {
		return troubleOf(err)
	}
	if c.size > left.File || p.sealed && c.size > left.Copies {
		return trouble{Why: whyTooLarge}
	}
	if p.sealed && isSealed(p.content) {
		return trouble{}
	}
	if !p.sealed && c.id == m.id && immutable(p.chain, table) {
		return trouble{}
	}
	return trouble{Why: whyChanged}
}

// digest hashes the held file. What only root can change is hashed once and
// then known by its stamps.
func (h held) digest(ctx context.Context, sealed bool, o Options) (jobspec.Digest, int64, error) {
	before, err := statFile(h.file)
	if err != nil {
		return jobspec.Digest{}, 0, err
	}
	if sealed {
		d, err := hashFile(ctx, h.file, before.size)
		return d, before.size, err
	}
	if d, ok := o.Cache.lookup(before.stamp); ok {
		return d, before.size, nil
	}
	d, err := hashFile(ctx, h.file, before.size)
	if err != nil {
		return jobspec.Digest{}, 0, err
	}
	after, err := statFile(h.file)
	if err != nil {
		return jobspec.Digest{}, 0, err
	}
	if after.stamp != before.stamp {
		return jobspec.Digest{}, 0, io.ErrUnexpectedEOF
	}
	o.Cache.remember(before.stamp, d)
	return d, before.size, nil
}
