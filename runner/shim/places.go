package shim

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// folders are where the programs of the table lie, if they are there.
func folders() []string {
	return []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
		"/usr/lib/openssh", "/usr/lib/ssh", "/usr/libexec/openssh", "/usr/lib/git-core", "/usr/libexec/git-core"}
}

// Places knows the real paths of the table's programs on this machine. It looks
// again when one of their folders has changed: a shim mounted over a name that a
// package took away would keep every job from starting. It may be used by many
// goroutines.
type Places struct {
	mu    sync.Mutex
	root  string // "" for the machine, a folder in tests
	found []string
	seen  map[string]time.Time // folder -> its change time when it was read
}

// NewPlaces looks at nothing yet.
func NewPlaces() *Places { return &Places{} }

// Now lists the real paths that exist, sorted; none for a nil p. A path whose
// real name is not in the table is left out: one program may have many names
// (busybox), and it must not be covered for one of them.
func (p *Places) Now() []string {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil || p.changed() {
		p.look()
	}
	return slices.Clone(p.found)
}

func (p *Places) changed() bool {
	for dir, at := range p.seen {
		if !changeTime(dir).Equal(at) {
			return true
		}
	}
	return false
}

// look reads the folders anew. A name that cannot be followed is no program.
func (p *Places) look() {
	p.found, p.seen = nil, map[string]time.Time{}
	for _, dir := range folders() {
		dir = p.root + dir
		p.seen[dir] = changeTime(dir)
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // it cannot be read, so nothing is known to be there
		}
		for _, e := range entries {
			if Known(e.Name()) {
				p.add(filepath.Join(dir, e.Name()))
			}
		}
	}
	slices.Sort(p.found)
	p.found = slices.Compact(p.found)
}

func (p *Places) add(path string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !Known(filepath.Base(real)) {
		return
	}
	info, err := os.Lstat(real)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	dir := filepath.Dir(real)
	if _, known := p.seen[dir]; !known {
		p.seen[dir] = changeTime(dir)
	}
	p.found = append(p.found, real)
}

// changeTime is when a folder's entries last changed, the zero time for one
// that is not there.
func changeTime(dir string) time.Time {
	info, err := os.Stat(dir)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
