package bwrap

import (
	"errors"
	"fmt"
	"os"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/protect"
	"golang.org/x/sys/unix"
)

// guarded is a protected name that exists.
type guarded struct {
	path  string
	file  *os.File
	write bool // mounted writable, so that it cannot be moved away
}

// openGuards opens the protected names of the writable directories with the
// job's rights, by descriptor and without following links: the path of a
// protected name is something that an earlier run could have prepared, and
// mounting through a link there would show the job what it points to.
func (b *Backend) openGuards(p *runner.Blueprint) ([]guarded, error) {
	var all []guarded
	var failed error
	err := b.spawn.as(p.Account.UID, p.Account.GID, func() {
		for _, g := range p.Guard {
			if failed = guardGit(p, g, &all); failed != nil {
				return
			}
			for _, name := range g.Protect() {
				path := g.Path + "/" + name
				f, err := protect.Open(p.Pins.File(g.Pin), name, g.Host+"/"+name)
				if err != nil {
					failed = err
					return
				}
				if f != nil {
					all = append(all, guarded{path: path, file: f})
				}
			}
		}
	})
	if err = errors.Join(err, failed); err == nil {
		err = secondNames(p, all)
	}
	if err != nil {
		closeGuards(all)
		return nil, err
	}
	return all, nil
}

// secondNames refuses protected folders that the job can change by other names.
// It may take a while in a large folder, so the thread that starts sandboxes is
// not kept with it.
func secondNames(p *runner.Blueprint, guards []guarded) error {
	var writable []protect.Folder
	var held []*os.File
	for _, g := range p.Guard {
		writable = append(writable, protect.Folder{Path: g.Host, Dir: p.Pins.File(g.Pin)})
	}
	for _, g := range guards {
		if !g.write {
			held = append(held, g.file)
		}
	}
	if len(held) == 0 {
		return nil
	}
	return asAccount(p.Account, func() error { return protect.SecondNames(writable, held) })
}

// guardGit opens the .git that a job may commit to. A file there names a folder
// elsewhere, which nobody approved.
func guardGit(p *runner.Blueprint, g runner.Guard, all *[]guarded) error {
	if !g.Git {
		return nil
	}
	path := g.Host + "/" + jobspec.GitFolder
	f, err := protect.Open(p.Pins.File(g.Pin), jobspec.GitFolder, path)
	if f == nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		f.Close()
		return refusal(jobspec.CodeFsDeniedProtected, path, "%q is no folder; fs.git = commit is for the top folder of a repository", path)
	}
	*all = append(*all, guarded{path: g.Path + "/" + jobspec.GitFolder, file: f, write: true})
	return nil
}

func closeGuards(all []guarded) {
	for _, g := range all {
		g.file.Close()
	}
}

func refusal(code jobspec.Code, target, format string, args ...any) *runner.Refusal {
	return &runner.Refusal{Reason: code, Target: target, Detail: fmt.Sprintf(format, args...)}
}
