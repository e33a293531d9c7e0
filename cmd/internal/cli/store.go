package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/doctor"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/safefile"
)

func newStore(a *App) *cobra.Command {
	check := &cobra.Command{
		Use:   "check",
		Short: "Read all that is remembered and name what is damaged; nothing is changed; 3 when something is",
		Args:  cobra.NoArgs,
		RunE:  work(func(context.Context, []string) error { return a.storeCheck() }),
	}
	backup := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a snapshot of what is remembered to a new file, with the service stopped",
		Long: `Write a snapshot of what is remembered to a new file, with the service stopped.

It is a tar file of the chain, the ledger, the outputs, the copies of trust files and
the public files of the configuration, each with its SHA-256. Keys, credentials and
policy.d/ are not in it.`,
		Args: cobra.ExactArgs(1),
		RunE: work(func(_ context.Context, args []string) error { return a.storeBackup(args[0]) }),
	}
	restore := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put back what is missing or damaged, from a backup, with the service stopped",
		Long: `Put back what is missing or damaged, from a backup, with the service stopped.

What is sound is kept, and what is damaged is moved aside, never removed. The pin and
the newest checkpoint in the configuration decide whether the backup is good: one from
before the newest op cannot replace the chain, since it would take back what was
removed or disabled. The configuration itself is never restored by this command.`,
		Args: cobra.ExactArgs(1),
		RunE: work(func(_ context.Context, args []string) error { return a.storeRestore(args[0]) }),
	}
	return group("store", "What is remembered: check it, back it up, restore it", check, backup, restore)
}

func (a *App) storeDirs() (store.Dirs, error) {
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return store.Dirs{}, err
	}
	d := site.Dirs()
	if _, err := os.Lstat(d.Host()); errors.Is(err, fs.ErrNotExist) {
		return d, &store.UninitialisedError{Conf: d.Conf}
	}
	return d, nil
}

func (a *App) storeCheck() error {
	d, err := a.storeDirs()
	if err != nil {
		return err
	}
	var checks []doctor.Check
	for _, p := range store.CheckParts(d) {
		if errors.As(p.Err, new(*store.LockedError)) {
			return p.Err
		}
		c := doctor.Check{Name: p.Name, Verdict: doctor.OK, Detail: p.Detail}
		if p.Err != nil {
			c.Verdict, c.Detail, c.Remedy = doctor.Fail, p.Err.Error(), "sbxcron store restore FILE, from a backup; what is damaged is kept"
		}
		checks = append(checks, c)
	}
	if a.flags.json {
		err = a.items("store_check", checks)
	} else {
		a.printChecks(checks)
	}
	if err == nil && doctor.Failed(checks) {
		return exitStatus(jobspec.ClassProblems.Exit())
	}
	return err
}

// backupItem is what backup wrote, as scripts read it.
type backupItem struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// storeBackup leaves no file behind that is not whole.
func (a *App) storeBackup(path string) error {
	item := backupItem{File: path}
	err := a.locked(func(d store.Dirs, lock *store.Lock) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fileError(err, "name a file that does not exist yet")
		}
		sum := sha256.New()
		err = store.Backup(d, lock, io.MultiWriter(f, sum))
		if err == nil {
			item.Bytes, err = f.Seek(0, io.SeekEnd)
		}
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return errors.Join(err, os.Remove(path))
		}
		item.SHA256 = fmt.Sprintf("sha256:%x", sum.Sum(nil))
		return safefile.RealDisk{}.SyncDir(filepath.Dir(path))
	})
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.item("store_backup", item)
	}
	a.line("%s: %d bytes, %s", jobspec.Quote(path), item.Bytes, item.SHA256)
	return nil
}

// restoreItem is one thing that restore did, as scripts read it.
type restoreItem struct {
	Part   string `json:"part"`
	Action string `json:"action"`
	Path   string `json:"path"`
	Aside  string `json:"aside"`
}

func (a *App) storeRestore(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fileError(err, "name a file that store backup wrote")
	}
	defer f.Close()
	items, lost := []restoreItem{}, false
	err = a.locked(func(d store.Dirs, lock *store.Lock) error {
		done, err := store.Restore(d, lock, f, a.Now())
		for _, r := range done {
			items, lost = append(items, restoreItem(r)), lost || r.Action == "lost"
		}
		return err
	})
	if err != nil {
		return err
	}
	if a.flags.json {
		err = a.items("store_restore", items)
	}
	for _, i := range items {
		if a.flags.json {
			break
		}
		a.line("%s %s: %s", i.Part, i.Action, jobspec.Quote(i.Path))
		if i.Aside != "" {
			a.line("  the damaged one: %s", jobspec.Quote(i.Aside))
		}
	}
	if err == nil && lost {
		return exitStatus(jobspec.ClassProblems.Exit())
	}
	return err
}

// locked runs f with the lock, which a running service does not give.
func (a *App) locked(f func(store.Dirs, *store.Lock) error) error {
	d, err := a.storeDirs()
	if err != nil {
		return err
	}
	lock, err := store.TryLock(d, store.LockWait)
	if err != nil {
		return api.Wrap(err)
	}
	err = f(d, lock)
	return errors.Join(err, lock.Close())
}
