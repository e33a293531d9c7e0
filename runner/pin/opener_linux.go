package pin

import (
	"context"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// opened is one path as the holder of the rights opened it: the chain of
// descriptors and, for a bound file, its content. It is either complete or it
// has a trouble and holds nothing.
type opened struct {
	trouble
	chain   chain
	content *os.File
	sealed  bool
	kind    jobspec.FileKind // set also with a trouble of that kind
}

func (p *opened) close() {
	p.chain.close()
	if p.content != nil {
		p.content.Close()
	}
	p.chain, p.content = nil, nil
}

// fail closes what is held and keeps the trouble.
func (p *opened) fail(t trouble) opened {
	p.close()
	return opened{trouble: t, kind: p.kind}
}

// room is how many bytes may still be bound: in one file, and in sealed copies.
// Its zero value leaves none.
type room struct {
	File   int64 `json:"file"`
	Copies int64 `json:"copies"`
}

// openPath opens one path with the rights of this process. It runs in the child
// when there is one.
func openPath(ctx context.Context, r Request, table mounts, left room, o Options) opened {
	if t := checkPath(r.Path); t.Why != whyNone {
		return opened{trouble: t}
	}
	o.at(stageStart)
	c, err := walk(r.Path)
	if err != nil {
		return opened{trouble: explain(r, err)}
	}
	p := opened{chain: c}
	m, err := statFile(c.last())
	if err != nil {
		return p.fail(troubleOf(err))
	}
	p.kind = m.kind
	if !fits(r, m.kind) {
		return p.fail(trouble{Why: whyKind})
	}
	if err := reach(r, m.kind, c.last()); err != nil {
		return p.fail(troubleOf(err))
	}
	o.at(stageOpened)
	if r.Use != jobspec.UseBound {
		return p
	}
	return p.takeContent(ctx, m, table, left)
}

// explain sorts the error of a walk. For a symbolic link it finds where the
// account's rights lead, for the message, and says "unreachable" where they do
// not lead to an end.
func explain(r Request, err error) trouble {
	t := troubleOf(err)
	if t.Why != whySymlink {
		return t
	}
	real, err := filepath.EvalSymlinks(r.Path)
	if err != nil {
		return troubleOf(err)
	}
	t.Real = real
	if err := reaches(r, real); err != nil {
		return trouble{Why: whyUnreachable, Errno: troubleOf(err).Errno, Real: real}
	}
	return t
}

// reaches says whether the account could use path, without holding it.
func reaches(r Request, path string) error {
	c, err := walk(path)
	if err != nil {
		return err
	}
	defer c.close()
	m, err := statFile(c.last())
	if err != nil {
		return err
	}
	return reach(r, m.kind, c.last())
}

// fits says whether a file of this kind can serve the use. Only directories and
// regular files do, since a device or FIFO is a way to another process, and so is
// a socket, which must have been asked for as one.
func fits(r Request, kind jobspec.FileKind) bool {
	switch r.Use {
	case jobspec.UseBound:
		return kind == jobspec.KindRegular
	case jobspec.UseCwd:
		return kind == jobspec.KindDir
	case jobspec.UseSocket:
		return kind == jobspec.KindSocket
	case jobspec.UseRead, jobspec.UseWrite, jobspec.UseDeny, jobspec.UseBindRO, jobspec.UseBindRW:
		return kind == jobspec.KindRegular || kind == jobspec.KindDir
	default:
		return false
	}
}

// reach asks whether the account may use the file itself: an O_PATH open needs
// only the folders above it. A directory must be searchable, a file readable or
// writable, and a socket writable (connect(2)); nothing is asked of a path that the job is denied.
func reach(r Request, kind jobspec.FileKind, f *os.File) error {
	mode := uint32(unix.R_OK)
	switch {
	case r.Use == jobspec.UseDeny:
		return nil
	case kind == jobspec.KindDir:
		mode = unix.X_OK
	case r.Use == jobspec.UseWrite, r.Use == jobspec.UseBindRW, r.Use == jobspec.UseSocket:
		mode = unix.W_OK
	}
	return unix.Faccessat(int(f.Fd()), "", mode, unix.AT_EMPTY_PATH|unix.AT_EACCESS)
}

// takeContent opens the bytes of a bound file: the inode itself where only root
// can change it, else a sealed copy.
func (p *opened) takeContent(ctx context.Context, m meta, table mounts, left room) opened {
	if m.size > left.File {
		return p.fail(trouble{Why: whyTooLarge})
	}
	f, err := reopen(p.chain.last())
	if err != nil {
		return p.fail(troubleOf(err))
	}
	if immutable(p.chain, table) {
		p.content = f
		return *p
	}
	defer f.Close()
	if m.size > left.Copies {
		return p.fail(trouble{Why: whyTooLarge})
	}
	sealed, t := seal(ctx, f, left.Copies)
	if t.Why != whyNone {
		return p.fail(t)
	}
	p.content, p.sealed = sealed, true
	return *p
}

// immutable reports whether nobody but root can change the file or any folder
// on the way to it.
func immutable(c chain, table mounts) bool {
	for _, f := range c {
		m, err := statFile(f)
		if err != nil || !m.onlyRoot() || !table[m.mount].local() {
			return false
		}
	}
	return true
}
