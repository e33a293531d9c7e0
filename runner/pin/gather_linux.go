package pin

import (
	"os"
	"path/filepath"

	"github.com/sbxcron/sbxcron/jobspec"
)

// gatherer locates places against one reading of the mounts. It remembers the
// folders, since most places are missing and share the few that are above them.
type gatherer struct {
	table mounts
	known map[string]jobspec.Location
	all   []jobspec.Sensitive

	witness *gathered // what the list stands on, nil where nobody keeps it
}

func newGatherer() (*gatherer, error) {
	table, err := readMounts()
	if err != nil {
		return nil, err
	}
	return gathererOf(table), nil
}

func gathererOf(table mounts) *gatherer {
	return &gatherer{table: table, known: make(map[string]jobspec.Location)}
}

// each adds paths under one description. A relative path belongs to nobody and
// is passed over.
func (g *gatherer) each(what string, reach jobspec.Reach, paths ...string) {
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			continue
		}
		p = filepath.Clean(p)
		g.all = append(g.all, jobspec.Sensitive{What: what, Path: p, Reach: reach, Where: g.where(p)})
	}
}

// where locates a path. One that is not there, or cannot be seen, lies where its
// folder lies, with its name behind; Self is zero then.
func (g *gatherer) where(path string) jobspec.Location {
	if w, ok := g.known[path]; ok {
		return w
	}
	var up, w jobspec.Location
	if path != "/" {
		up = g.where(filepath.Dir(path))
	}
	ok := false
	if path == "/" || up.Self != (jobspec.FileID{}) { // nothing lies in a folder that is not there
		if path != "/" {
			g.note(path) // before the look: what changes between the two shows at the next one
		}
		w, ok = g.find(path)
	}
	if !ok && path != "/" {
		w = inside(up, filepath.Base(path))
	}
	g.known[path] = w
	return w
}

// find asks for the name first, which is cheap: it is missing most of the time.
func (g *gatherer) find(path string) (jobspec.Location, bool) {
	if _, err := os.Lstat(path); err != nil {
		return jobspec.Location{}, false
	}
	noted := g.noteLink(path)
	w, real, err := locate(path, g.table)
	if err != nil || real != noted {
		g.witness = nil // it is there and cannot be told: ask again each time
	}
	return w, err == nil
}

// inside is where a missing name of a folder would lie.
func inside(up jobspec.Location, name string) jobspec.Location {
	w := jobspec.Location{Ancestors: up.Ancestors}
	if up.Self != (jobspec.FileID{}) {
		w.Ancestors = append([]jobspec.FileID{up.Self}, up.Ancestors...)
	}
	if up.Device != "" {
		w.Device = filepath.Join(up.Device, name)
	}
	return w
}
