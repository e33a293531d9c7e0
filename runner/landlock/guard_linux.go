package landlock

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/protect"
)

// maxBeside bounds the entries of a directory that are granted one by one.
const maxBeside = 400

// guard grants a writable directory. Landlock can only add: a right of the
// directory holds for all below it. So where a protected name exists, the
// directory itself can be read only, and what lies beside that name is granted
// one by one. The job then makes, renames and removes nothing at the top.
func (l *local) guard(g runner.Guard) error {
	dir := l.b.Pins.File(g.Pin)
	if g.Git {
		return lacks("mounts", "fs.git", "with commit .git is writable but for parts of it")
	}
	found, err := protectedIn(dir, g)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		l.Grants = append(l.Grants, runner.Grant{FD: l.add(dir), Right: runner.Write})
		return nil
	}
	l.Grants = append(l.Grants, runner.Grant{FD: l.add(dir), Right: runner.Read})
	names, err := list(dir)
	if err != nil {
		return err
	}
	if len(names) > maxBeside {
		return refusal(jobspec.CodeFsDeniedProtected, g.Host, "%q holds the protected name %q and %d entries, more than the %d that are granted one by one; move what the job writes into a folder of its own",
			g.Host, found[0], len(names), maxBeside)
	}
	for _, name := range names {
		if slices.Contains(found, name) {
			continue
		}
		if err := l.grantBeside(dir, name); err != nil {
			return err
		}
	}
	return nil
}

// protectedIn lists the protected names that exist.
func protectedIn(dir *os.File, g runner.Guard) ([]string, error) {
	var found []string
	var files []*os.File
	for _, name := range g.Protect() {
		f, err := protect.Open(dir, name, g.Host+"/"+name)
		if err != nil {
			return nil, err
		}
		if f != nil {
			defer f.Close()
			found, files = append(found, name), append(files, f)
		}
	}
	return found, protect.SecondNames([]protect.Folder{{Path: g.Host, Dir: dir}}, files)
}

func list(dir *os.File) ([]string, error) {
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir.Name(), err)
	}
	f := os.NewFile(uintptr(fd), dir.Name())
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// grantBeside grants one entry as it is now, by its descriptor. A link, a pipe, or
// what went meanwhile gets no right of its own.
func (l *local) grantBeside(dir *os.File, name string) error {
	fd, err := unix.Openat2(int(dir.Fd()), name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV})
	if err != nil {
		return nil // it stays readable only
	}
	f := os.NewFile(uintptr(fd), name)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Close()
		return fmt.Errorf("look at %s: %w", name, err)
	}
	right := runner.NoRight
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		right = runner.Write
	case unix.S_IFREG:
		right = runner.WriteFile
	}
	if right == runner.NoRight {
		return f.Close()
	}
	l.own = append(l.own, f)
	l.Grants = append(l.Grants, runner.Grant{FD: l.add(f), Right: right})
	return nil
}
