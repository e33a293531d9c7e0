package protect

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/internal/tree"
)

// Bounds of the looks for second names.
const (
	maxHeld     = 1 << 16 // names in one protected folder
	maxWritable = 1 << 20 // names in one writable folder, which is looked at only where there is a cause
)

// Folder is a writable one, with its path on the host.
type Folder struct {
	Path string
	Dir  *os.File
}

type fileID struct{ dev, ino uint64 }

func idOf(st *unix.Stat_t) fileID { return fileID{st.Dev, st.Ino} }

// SecondNames refuses protected folders with a file that has another name in a
// writable one: bound read-only under this name, it could be changed under that.
// A second name elsewhere is none of the job's, so a copy made of links (cp -l)
// somewhere else does no harm. The protected ones are what Open returned.
func SecondNames(writable []Folder, protected []*os.File) error {
	held, linked := map[fileID]bool{}, map[fileID]string{}
	for _, f := range protected {
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			return fmt.Errorf("look at %s: %w", f.Name(), err)
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			continue
		}
		held[idOf(&st)] = true
		if err := findLinked(f, linked); err != nil {
			return err
		}
	}
	if len(linked) == 0 {
		return nil
	}
	for _, dir := range writable {
		if err := findAlias(dir, held, linked); err != nil {
			return err
		}
	}
	return nil
}

// findLinked adds the files of a protected folder that have several names.
func findLinked(f *os.File, linked map[fileID]string) error {
	err := tree.Walk(f, maxHeld, func(e tree.Entry) error {
		switch e.Stat.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			return enter(f.Name() + "/" + e.Path)
		case unix.S_IFREG:
			if e.Stat.Nlink > 1 {
				linked[idOf(e.Stat)] = f.Name() + "/" + e.Path
			}
		}
		return nil
	}, func(tree.Entry) error { return nil }) // the job cannot close what is read-only for it
	if errors.Is(err, tree.ErrTooMuch) {
		return refusal(jobspec.CodeFsDeniedProtected, f.Name(), "protected folder %q holds more than %d names or is too deep to look for second names of its files; let the job work in a folder without it", f.Name(), maxHeld)
	}
	return err
}

// enter leaves out what is large in a repository and makes git run nothing. Clones
// of the same machine share it by links.
func enter(folder string) error {
	inGit := slices.Contains(splitAll(path.Dir(folder)), jobspec.GitFolder)
	if inGit && slices.Contains([]string{"objects", "refs", "logs"}, path.Base(folder)) {
		return tree.SkipFolder
	}
	return nil
}

func splitAll(p string) []string {
	var all []string
	for p != "/" && p != "." && p != "" {
		all = append(all, path.Base(p))
		p = path.Dir(p)
	}
	return all
}

// findAlias refuses a writable folder with a name of a linked file.
func findAlias(dir Folder, held map[fileID]bool, linked map[fileID]string) error {
	err := tree.Walk(dir.Dir, maxWritable, func(e tree.Entry) error {
		if e.Stat.Mode&unix.S_IFMT == unix.S_IFDIR && held[idOf(e.Stat)] {
			return tree.SkipFolder
		}
		if name, found := linked[idOf(e.Stat)]; found {
			alias := dir.Path + "/" + e.Path
			return refusal(jobspec.CodeFsDeniedProtected, name, "protected file %q is the same file as %q, where the job can change it; replace it by a copy", name, alias)
		}
		return nil
	}, func(e tree.Entry) error {
		closed := dir.Path + "/" + e.Path
		return refusal(jobspec.CodeFsDeniedProtected, closed, "a protected file below %q has a second name, which cannot be looked for in %q: it may not be read; replace the file by a copy", dir.Path, closed)
	})
	if errors.Is(err, tree.ErrTooMuch) {
		return refusal(jobspec.CodeFsDeniedProtected, dir.Path, "a protected file below %q has a second name, and so many files lie there that it cannot be looked for; replace it by a copy", dir.Path)
	}
	return err
}
