package doctor

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/cause"
)

// Kernel fills what the kernel tells of itself: Landlock, filters, user
// namespaces and the clock.
func (f *Facts) Kernel() {
	f.Machine = cause.Read()
	f.Userns = switchedOff(f.Machine, os.Getuid())
	f.Synchronised = synchronised()
}

// StateOn fills the type of the file system below a path, where it is one that
// should be known of.
func (f *Facts) StateOn(path string) {
	var st unix.Statfs_t
	for ; unix.Statfs(path, &st) != nil; path = filepath.Dir(path) {
		if path == filepath.Dir(path) {
			return
		}
	}
	f.StateFS = map[int64]string{unix.NFS_SUPER_MAGIC: "nfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.TMPFS_MAGIC: "tmpfs",
		unix.CIFS_SUPER_MAGIC: "cifs", unix.SMB2_SUPER_MAGIC: "cifs", unix.V9FS_MAGIC: "9p", unix.FUSE_SUPER_MAGIC: "fuse"}[int64(st.Type)&0xffffffff]
}

// synchronised reads the clock's status without setting anything (adjtimex(2)
// with no modes).
func synchronised() Answer {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return Unknown
	}
	if t.Status&unix.STA_UNSYNC != 0 {
		return No
	}
	return Yes
}
