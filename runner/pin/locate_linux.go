package pin

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// locate says where a path lies, with the rights of this process. It follows
// symbolic links first, and says where they lead: what is looked for is the place,
// not its name.
func locate(path string, table mounts) (where jobspec.Location, real string, err error) {
	if real, err = filepath.EvalSymlinks(path); err != nil {
		return jobspec.Location{}, "", err
	}
	c, err := walk(real)
	if err != nil {
		return jobspec.Location{}, "", &os.PathError{Op: "locate", Path: path, Err: err}
	}
	defer c.close()
	if where, err = c.location(real, table); err != nil {
		return jobspec.Location{}, "", &os.PathError{Op: "locate", Path: path, Err: err}
	}
	return where, real, nil
}

// location is the place of a chain that was walked along path. It checks with
// the kernel that each descriptor is what the path leads to in our own view, so
// it may be asked of a chain that another process opened.
func (c chain) location(path string, table mounts) (jobspec.Location, error) {
	if err := c.follows(path); err != nil {
		return jobspec.Location{}, err
	}
	var where jobspec.Location
	for i, f := range c {
		m, err := statFile(f)
		if err != nil {
			return jobspec.Location{}, err
		}
		if i < len(c)-1 {
			where.Ancestors = append(where.Ancestors, m.id)
			continue
		}
		dev, ok := table.device(m.mount, path)
		if !ok {
			return jobspec.Location{}, unix.EXDEV
		}
		where.Self, where.Device = m.id, dev
		if m.kind == jobspec.KindDir {
			where.Below = table.under(path)
			slices.Sort(where.Below)
		}
	}
	slices.Reverse(where.Ancestors)
	return where, nil
}

// follows compares the kernel's own name of each descriptor (d_path, through
// the magic link) with the components of path. The last may have been unlinked
// since: it was there when it was opened. EXDEV means that something moved, or
// that the chain was never walked along this path.
func (c chain) follows(path string) error {
	for i := len(c) - 1; i >= 0; i-- {
		name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(c[i].Fd())))
		if err != nil {
			return err
		}
		gone := i == len(c)-1 && name == path+" (deleted)"
		if name != path && !gone {
			return unix.EXDEV
		}
		if path == "/" && i > 0 {
			return unix.EXDEV
		}
		path = filepath.Dir(path)
	}
	if len(c) == 0 || path != "/" {
		return unix.EXDEV
	}
	return nil
}
