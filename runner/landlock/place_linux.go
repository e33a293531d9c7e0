package landlock

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/channel"
	"github.com/sbxcron/sbxcron/runner/shim"
)

// place is the folder of one run: what a sandbox with mounts would have in memory
// lies here on the disk, in a folder that only the account can enter, and goes
// with the run. Nothing grants the folder itself, only parts of it.
type place struct{ root string }

// folderName is where places lie below RUN.
const folderName = "alone"

// Parts of a place.
func (p place) home() string   { return p.root + "/home" }
func (p place) tmp() string    { return p.root + "/tmp" }
func (p place) work() string   { return p.root + "/work" }
func (p place) bin() string    { return p.root + "/bin" }
func (p place) shim() string   { return p.root + "/shim" }
func (p place) script() string { return p.root + "/script" }
func (p place) copies() string { return p.root + "/copies" }
func (p place) canary() string { return p.root + "/canary" }
func (p place) beside() string { return p.root }
func (p place) remove() error  { return removeAll(p.root) }
func (p place) dirs() []string { return []string{p.home(), p.tmp(), p.work(), p.bin(), p.copies()} }

// newPlace makes the folder of a run below the folder for all.
func newPlace(folder string, b *runner.Blueprint, events *channel.Channel) (place, error) {
	var name [16]byte
	rand.Read(name[:]) // never fails (crypto/rand)
	p := place{root: filepath.Join(folder, hex.EncodeToString(name[:]))}
	if err := p.fill(b, events); err != nil {
		return place{}, errors.Join(fmt.Errorf("make the folder of the run: %w", err), p.remove())
	}
	return p, nil
}

func (p place) fill(b *runner.Blueprint, events *channel.Channel) error {
	if err := os.MkdirAll(filepath.Dir(p.root), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(p.root, 0o700); err != nil {
		return err
	}
	for _, dir := range p.dirs() {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	for _, name := range shim.Names() {
		if err := os.Symlink("../shim", p.bin()+"/"+name); err != nil {
			return err
		}
	}
	script := []byte(nil)
	for _, m := range b.Mounts {
		if m.Kind == runner.Data && m.Dst == runner.ScriptPath {
			script = m.Bytes
		}
	}
	return errors.Join(
		write(p.canary(), []byte("nothing grants this file\n"), 0o600),
		write(p.shim(), shim.Script(events.Path(), ""), 0o500),
		write(p.script(), script, 0o400))
}

func write(path string, b []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Chmod(mode), f.Close()) // the umask has no say
}

// removeAll removes a folder in which a job may have closed folders to itself. It
// follows no link.
func removeAll(root string) error {
	err := os.RemoveAll(root)
	if err == nil {
		return nil
	}
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700) // a folder that was read just now, and the run is over
		}
		return nil
	})
	return os.RemoveAll(root)
}

// sweep removes what a service left that was killed. RUN is this service's alone.
func sweep(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		err = errors.Join(err, removeAll(filepath.Join(folder, e.Name())))
	}
	return err
}
