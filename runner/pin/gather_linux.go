package pin

import (
	"path/filepath"

	"github.com/sbxcron/sbxcron/jobspec"
)

// gatherer locates places against one reading of the mounts.
type gatherer struct {
	table mounts
	all   []jobspec.Sensitive
}

func newGatherer() (*gatherer, error) {
	table, err := readMounts()
	if err != nil {
		return nil, err
	}
	return &gatherer{table: table}, nil
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

// where locates a path, or tells what is known of a path that is not there: the
// folders that do exist above it, and the form that it would have in their file
// system. Self is zero then.
func (g *gatherer) where(path string) jobspec.Location {
	if w, err := locate(path, g.table); err == nil {
		return w
	}
	if path == "/" {
		return jobspec.Location{}
	}
	up := g.where(filepath.Dir(path))
	w := jobspec.Location{Ancestors: up.Ancestors}
	if up.Self != (jobspec.FileID{}) {
		w.Ancestors = append([]jobspec.FileID{up.Self}, up.Ancestors...)
	}
	if up.Device != "" {
		w.Device = filepath.Join(up.Device, filepath.Base(path))
	}
	return w
}
