package pin

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Places gathers the sensitive places and remembers where they lie for as long as
// it can prove that gathering them anew would give the same. What it stands on is
// looked at each time: the list of mounts, the homes of the passwd file, each
// symbolic link on the way, and each folder in which a name was looked for. Of a
// folder whose time of change is the same, no name is asked again, for no name can
// come or go without changing it; of every other each name is. A nil Places
// gathers anew each time. It may be used by many goroutines.
type Places struct {
	mu     sync.Mutex
	mounts mountList
	last   *gathered
}

// gathered is one list and all that it stands on.
type gathered struct {
	options SensitiveOptions
	homes   []home
	mounts  []byte
	table   mounts // the same, parsed
	folders map[string]*watchedFolder
	links   map[string]string // path -> where it leads
	all     []jobspec.Sensitive
}

// watchedFolder is a folder in which names were looked for.
type watchedFolder struct {
	meta  meta
	sure  bool // as long as meta is the same, so are the names
	names []lookup
}

// lookup is a name that was asked for. id is zero where it is missing; the number
// of a file that went away may be another's, of another type.
type lookup struct {
	path string
	id   jobspec.FileID
	typ  uint16
}

// Sensitive is SensitivePlaces. The list is shared: nobody changes it.
func (p *Places) Sensitive(o SensitiveOptions) ([]jobspec.Sensitive, error) {
	if p == nil {
		return SensitivePlaces(o)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	homes, err := readHomes(o.Passwd)
	if err != nil {
		return nil, err
	}
	raw, err := p.mounts.now()
	if err != nil {
		return nil, err
	}
	if l := p.last; l != nil && reflect.DeepEqual(l.options, o) && slices.Equal(l.homes, homes) && bytes.Equal(l.mounts, raw) && l.holds() {
		return l.all, nil
	}
	p.last = nil
	table, err := parseMounts(raw)
	if err != nil {
		return nil, err
	}
	g := gathererOf(table)
	g.witness = &gathered{options: o, homes: homes, mounts: raw, table: table, folders: map[string]*watchedFolder{}, links: map[string]string{}}
	collect(g, o, homes)
	if w := g.witness; w != nil {
		w.all = g.all
		p.last = w
	}
	return g.all, nil
}

// holds looks whether everything still is where it was.
func (l *gathered) holds() bool {
	for path, to := range l.links {
		if real, err := filepath.EvalSymlinks(path); err != nil || real != to {
			return false
		}
	}
	for path, f := range l.folders {
		if !f.holds(path, l.table) {
			return false
		}
	}
	return true
}

func (f *watchedFolder) holds(path string, table mounts) bool {
	began := time.Now()
	now, err := statPath(path, true)
	if err != nil || now.id != f.meta.id || now.uid != f.meta.uid || now.mode != f.meta.mode || now.mount != f.meta.mount {
		return false
	}
	if f.sure && now.stamp == f.meta.stamp {
		return true
	}
	for _, n := range f.names {
		if !n.holds() {
			return false
		}
	}
	f.look(now, began, table)
	return true
}

// look notes the state of the folder before its names were asked for.
func (f *watchedFolder) look(m meta, began time.Time, table mounts) {
	f.meta = m
	f.sure = began.Sub(time.Unix(0, m.ctime)) >= settled && table[m.mount].tells()
}

func (n lookup) holds() bool {
	now, err := statPath(n.path, false)
	if err != nil {
		return n.id == jobspec.FileID{} && missing(err)
	}
	return now.id == n.id && now.typ == n.typ
}

// missing are the answers for a name that leads nowhere, now as before.
func missing(err error) bool {
	return os.IsNotExist(err) || err == unix.ENOTDIR || err == unix.EACCES
}

// tells reports whether a file system stamps a folder whenever a name in it comes
// or goes, by this kernel's hand alone.
func (m mount) tells() bool { return m.local() || m.fstype == "devtmpfs" }

// note keeps what a look at one name stands on. A gatherer without a witness
// keeps nothing.
func (g *gatherer) note(path string) {
	w := g.witness
	if w == nil {
		return
	}
	dir := filepath.Dir(path)
	f := w.folders[dir]
	if f == nil {
		began := time.Now()
		m, err := statPath(dir, true)
		if err != nil {
			g.witness = nil // it went away meanwhile
			return
		}
		f = &watchedFolder{}
		f.look(m, began, g.table)
		w.folders[dir] = f
	}
	n := lookup{path: path}
	now, err := statPath(path, false)
	switch {
	case err == nil:
		n.id, n.typ = now.id, now.typ
	case !missing(err):
		g.witness = nil
		return
	}
	f.names = append(f.names, n)
}

// noteLink keeps where a path leads, and each name on the way there.
func (g *gatherer) noteLink(path string) (real string) {
	real, err := filepath.EvalSymlinks(path)
	if g.witness == nil || err != nil || path == real {
		return real
	}
	g.witness.links[path] = real
	for at := real; at != "/" && g.witness != nil; at = filepath.Dir(at) {
		g.note(at)
	}
	return real
}

// statPath is statFile for a name.
func statPath(path string, follow bool) (meta, error) {
	flags := unix.AT_STATX_DONT_SYNC | unix.AT_NO_AUTOMOUNT
	if !follow {
		flags |= unix.AT_SYMLINK_NOFOLLOW
	}
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, flags, wanted, &st); err != nil {
		return meta{}, err
	}
	return metaOf(&st), nil
}
