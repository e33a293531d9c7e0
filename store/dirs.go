package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sbxcron/sbxcron/store/safefile"
)

// Dirs are the three folders of one installation and the uid that owns them.
// UID 0 is system mode. The zero value names no folder and is refused.
type Dirs struct {
	Conf, State, Run string
	UID              int
}

// SystemDirs are the folders of the installation that root owns.
func SystemDirs() Dirs {
	return Dirs{Conf: "/etc/sbxcron", State: "/var/lib/sbxcron", Run: "/run/sbxcron"}
}

// UserDirs are the folders of an ordinary user. Home comes from the passwd
// entry; no variable picks any of them. A link in home itself is resolved once
// here, and the real folder is checked at every use.
func UserDirs(home string, uid int) (Dirs, error) {
	real, err := realDir(home)
	if err != nil {
		return Dirs{}, err
	}
	d := Dirs{
		Conf:  filepath.Join(real, ".config", "sbxcron"),
		State: filepath.Join(real, ".local", "state", "sbxcron"),
		UID:   uid,
	}
	d.Run = filepath.Join(d.State, "run")
	runtime := filepath.Join("/run/user", strconv.Itoa(uid))
	if owner, err := safefile.Owner(runtime); err == nil && owner == uid {
		d.Run = filepath.Join(runtime, "sbxcron")
	}
	return d, nil
}

// RootDirs puts all three folders under root, with the mode of the uid. Root
// must exist.
func RootDirs(root string, uid int) (Dirs, error) {
	real, err := realDir(root)
	if err != nil {
		return Dirs{}, err
	}
	return Dirs{
		Conf:  filepath.Join(real, "conf"),
		State: filepath.Join(real, "state"),
		Run:   filepath.Join(real, "run"),
		UID:   uid,
	}, nil
}

func realDir(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("folder %q: %w", path, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("folder %q: %w", path, err)
	}
	return real, nil
}

// System reports whether this is the installation of root.
func (d Dirs) System() bool { return d.UID == 0 }

// Files in CONF.
func (d Dirs) AllowedSigners() string { return filepath.Join(d.Conf, "allowed_signers") }
func (d Dirs) RevokedKeys() string    { return filepath.Join(d.Conf, "revoked_keys") }
func (d Dirs) Policy() string         { return filepath.Join(d.Conf, "policy.toml") }
func (d Dirs) Host() string           { return filepath.Join(d.Conf, "host") }
func (d Dirs) Pin() string            { return filepath.Join(d.Conf, "pin") }
func (d Dirs) AuditKey() string       { return filepath.Join(d.Conf, "audit_key") }
func (d Dirs) Checkpoint() string     { return filepath.Join(d.Conf, "checkpoint") }

// Files and folders in STATE.
func (d Dirs) ChainDB() string   { return filepath.Join(d.State, "chain.db") }
func (d Dirs) RunsDB() string    { return filepath.Join(d.State, "runs.db") }
func (d Dirs) Lock() string      { return filepath.Join(d.State, "lock") }
func (d Dirs) LedgerDir() string { return filepath.Join(d.State, "ledger") }
func (d Dirs) Epochs() string    { return filepath.Join(d.LedgerDir(), "epochs") }
func (d Dirs) Receipts() string  { return filepath.Join(d.LedgerDir(), "receipts") }
func (d Dirs) Tree() string      { return filepath.Join(d.LedgerDir(), "tree") }
func (d Dirs) OutputDir() string { return filepath.Join(d.State, "output") }
func (d Dirs) TrustDir() string  { return filepath.Join(d.State, "trust") }

// JobsState holds the state folders of jobs. As root it lies beside STATE, which
// nobody but root enters: the sandbox program finds what it mounts by path, with
// the rights of the job's account.
func (d Dirs) JobsState() string {
	if d.System() {
		return d.State + "-jobs"
	}
	return filepath.Join(d.State, "jobs-state")
}

// Socket is the control socket in RUN.
func (d Dirs) Socket() string { return filepath.Join(d.Run, "socket") }

// ConfMode is the mode of the public files in CONF: trust files, policy, host
// and pin. Everybody reads root's, since a command of an ordinary user holds
// the service against the pin; only the owner reads an owner's.
func (d Dirs) ConfMode() fs.FileMode {
	if d.System() {
		return 0o644
	}
	return 0o600
}

// dirMode is the mode of CONF and RUN; STATE is always private.
func (d Dirs) dirMode() fs.FileMode {
	if d.System() {
		return 0o755
	}
	return 0o700
}

// Make makes what is missing of CONF, STATE and RUN and then checks all three.
func (d Dirs) Make() error {
	for _, dir := range []struct {
		path string
		mode fs.FileMode
	}{{d.Conf, d.dirMode()}, {d.State, 0o700}, {d.Run, d.dirMode()}} {
		if err := makeDir(dir.path, dir.mode); err != nil {
			return err
		}
	}
	return d.Check()
}

// Check refuses folders that others can write, here or in any parent, and a
// STATE that others can even look into.
func (d Dirs) Check() error {
	return errors.Join(
		safefile.CheckDir(d.Conf, d.UID),
		safefile.CheckPrivateDir(d.State, d.UID),
		safefile.CheckDir(d.Run, d.UID))
}

// makeDir makes a folder, and its parents with mode 0755, and makes their names
// durable: a ledger is worth nothing when its folder is lost with the power. An
// existing folder stays as it is.
func makeDir(path string, mode fs.FileMode) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("make folder %q: not an absolute path", path)
	}
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	parent := filepath.Dir(path)
	if err := makeDir(parent, 0o755); err != nil {
		return err
	}
	err := os.Mkdir(path, mode)
	if os.IsExist(err) {
		return nil // another process was faster
	}
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		return fmt.Errorf("make folder: %w", err)
	}
	if err := (safefile.RealDisk{}).SyncDir(parent); err != nil {
		return fmt.Errorf("make folder %q: %w", path, err)
	}
	return nil
}

// options are those of a file in CONF or STATE.
func (d Dirs) options(limit int64) safefile.Options {
	return safefile.Options{MaxBytes: limit, UID: d.UID}
}
