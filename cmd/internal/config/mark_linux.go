package config

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// settled is how old the last change of a file must be before its times prove that
// there was none since: another change within one tick of the kernel's clock bears
// the same time.
const settled = 2 * time.Second

// Mark is a sign of everything in CONF that a decision at a trigger reads: trust
// files, pin, host and policy, the folders of the policy and all names in them.
// Equal marks, each with true, say that nothing of it was changed between the two.
// False says that this cannot be told: a file or folder changed a moment ago, or
// lies where the kernel only remembers what another machine said. It costs a few
// calls of stat, and reads nothing.
func (s Site) Mark(now time.Time) (mark string, ok bool) {
	var at unix.Statfs_t
	if err := unix.Statfs(s.Conf, &at); err != nil || remote(int64(at.Type)) {
		return "", false
	}
	m := marker{now: now, ok: true}
	for _, path := range []string{s.Conf, s.Dirs.AllowedSigners(), s.Dirs.RevokedKeys(), s.Dirs.Policy(), s.Dirs.Host(), s.Dirs.Pin()} {
		m.add(path)
	}
	for _, dir := range []string{FurtherDir, OwnerDir} {
		path := filepath.Join(s.Conf, dir)
		if !m.add(path) {
			continue
		}
		names, err := listPlain(path)
		if err != nil {
			return "", false
		}
		for _, name := range names {
			m.add(filepath.Join(path, name))
		}
	}
	return string(m.sum), m.ok
}

// marker collects what stat says.
type marker struct {
	now time.Time
	sum []byte
	ok  bool
}

// add looks at one name and reports whether there is something of it. That there is
// nothing is part of the mark too.
func (m *marker) add(path string) bool {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	m.sum = append(m.sum, path...)
	if errors.Is(err, fs.ErrNotExist) {
		m.sum = append(m.sum, "\x00none\x00"...)
		return false
	}
	if err != nil || m.now.Sub(time.Unix(st.Ctim.Unix())) < settled {
		m.ok = false
		return false
	}
	for _, v := range []uint64{st.Dev, st.Ino, uint64(st.Mode), uint64(st.Uid), uint64(st.Gid), uint64(st.Size),
		uint64(st.Mtim.Nano()), uint64(st.Ctim.Nano())} {
		m.sum = binary.LittleEndian.AppendUint64(m.sum, v)
	}
	return true
}

// remote reports whether a file system may show what was true a while ago.
func remote(kind int64) bool {
	switch kind {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
		unix.F2FS_SUPER_MAGIC, zfsMagic, bcachefsMagic:
		return false
	}
	return true
}

// Numbers that golang.org/x/sys does not have.
const (
	zfsMagic      = 0x2fc12fc1
	bcachefsMagic = 0xca451a4e
)
