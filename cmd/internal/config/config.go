package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// Bounds of the files in CONF, in bytes.
const (
	maxTrustBytes  = 64 << 10
	maxPolicyBytes = 1 << 20
	// In system mode an ordinary user writes a file of owner.d, and each decision
	// about anybody's job reads it: it must cost next to nothing.
	maxOwnerBytes = 64 << 10
)

// policyLimit bounds a file of the policy by the folder that it lies in.
func policyLimit(path string) int64 {
	if filepath.Base(filepath.Dir(path)) == OwnerDir {
		return maxOwnerBytes
	}
	return maxPolicyBytes
}

// Site is one installation: its folders and whose it is.
type Site struct {
	store.Dirs
	Given string // folder in which a service manager gave the service credentials, "" for none
}

// Find returns the installation of this process: the one under root where root
// is named, else the system's for uid 0 and the user's for anybody else. The
// home is that of the passwd entry; no variable picks a folder.
func Find(root string) (Site, error) {
	uid := max(os.Getuid(), 0)
	if root != "" {
		d, err := store.RootDirs(root, uid)
		if errors.Is(err, fs.ErrNotExist) { // no folder, no installation
			err = &store.UninitialisedError{Conf: filepath.Join(root, "conf")}
		}
		return Site{Dirs: d}, err
	}
	if uid == 0 {
		return Site{Dirs: store.SystemDirs()}, nil
	}
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return Site{}, fmt.Errorf("find home of uid %d: %w", uid, err)
	}
	d, err := store.UserDirs(u.HomeDir, uid)
	return Site{Dirs: d}, err
}

// SeenDir is where the account of this process keeps what it has seen of hosts. No
// variable picks it.
func SeenDir() (string, error) {
	uid := max(os.Getuid(), 0)
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return "", fmt.Errorf("find home of uid %d: %w", uid, err)
	}
	d, err := store.UserDirs(u.HomeDir, uid)
	return d.State + "-seen", err
}

// System returns the installation of root as others see it: its socket, and the
// public files of CONF.
func System() Site { return Site{Dirs: store.SystemDirs()} }

func (s Site) read(path string, limit int64) ([]byte, error) {
	return safefile.Read(path, safefile.Options{MaxBytes: limit, UID: s.UID})
}

// TrustFiles are the bytes of both trust files.
type TrustFiles struct {
	AllowedSigners, RevokedKeys []byte
}

// TrustFiles reads both trust files. A missing one is an error: nobody would
// know who may sign, or what was revoked.
func (s Site) TrustFiles() (TrustFiles, error) {
	allowed, err := s.read(s.AllowedSigners(), maxTrustBytes)
	if err != nil {
		return TrustFiles{}, &Error{Reason: jobspec.CodeTrustRefused, Path: s.AllowedSigners(), Err: err}
	}
	revoked, err := s.read(s.RevokedKeys(), maxTrustBytes)
	if err != nil {
		return TrustFiles{}, &Error{Reason: jobspec.CodeTrustRefused, Path: s.RevokedKeys(), Err: err}
	}
	return TrustFiles{allowed, revoked}, nil
}

// Trust reads and accepts the trust files as they are now.
func (s Site) Trust() (*signing.Trust, error) {
	f, err := s.TrustFiles()
	if err != nil {
		return nil, err
	}
	return signing.ParseTrust(f.AllowedSigners, f.RevokedKeys, signing.Algorithms{})
}

// Error refuses a file of CONF.
type Error struct {
	Reason jobspec.Code
	Path   string
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("read %q: %v", e.Path, e.Err) }

// Code is the stable reason.
func (e *Error) Code() string { return string(e.Reason) }

// Hint is the cause's own advice where it has one, else the code's.
func (e *Error) Hint() string {
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](e.Err); ok && h.Hint() != "" {
		return h.Hint()
	}
	return e.Reason.Remedy()
}

func (e *Error) Unwrap() error { return e.Err }

// keyFile is the file in CONF that names the key init was given: its path or its
// fingerprint, never key material.
const (
	keyFile     = "key"
	maxKeyBytes = 4 << 10
)

// KeyFile is the path of the file that names the owner's key.
func KeyFile(d store.Dirs) string { return filepath.Join(d.Conf, keyFile) }

// DefaultKey is the key that init recorded, a path or a fingerprint; "" for none.
func (s Site) DefaultKey() (string, error) {
	b, err := s.read(KeyFile(s.Dirs), maxKeyBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(string(b), "\n"), nil
}

// DefaultKeyFile is DefaultKey where it is a path, else "".
func (s Site) DefaultKeyFile() string {
	key, err := s.DefaultKey()
	if err != nil || !filepath.IsAbs(key) {
		return ""
	}
	return strings.TrimSuffix(key, ".pub")
}
