package pin

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// meta is what the kernel says of one descriptor.
type meta struct {
	stamp
	kind  jobspec.FileKind
	typ   uint16 // S_IFMT bits
	uid   int
	mode  uint32 // permission, set-id and sticky bits
	mount uint64 // mount id, the key of mountinfo
}

// statFile asks the kernel about an open file. AT_STATX_DONT_SYNC keeps a file
// system that its user serves (FUSE) or that lives far away (NFS) from holding
// this process up; local file systems ignore it. statx(2).
func statFile(f *os.File) (meta, error) {
	const flags = unix.AT_EMPTY_PATH | unix.AT_SYMLINK_NOFOLLOW | unix.AT_STATX_DONT_SYNC
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", flags, wanted, &st); err != nil {
		return meta{}, fmt.Errorf("stat %q: %w", f.Name(), err)
	}
	if st.Mask&wanted != wanted {
		return meta{}, fmt.Errorf("stat %q: the kernel gives no mount id: %w", f.Name(), unix.ENOSYS)
	}
	return metaOf(&st), nil
}

// wanted is what statx is asked for.
const wanted = unix.STATX_BASIC_STATS | unix.STATX_MNT_ID

func metaOf(st *unix.Statx_t) meta {
	return meta{
		stamp: stamp{
			id:    jobspec.FileID{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino},
			size:  int64(st.Size),
			mtime: nanos(st.Mtime), ctime: nanos(st.Ctime),
		},
		kind: kindOf(st.Mode), typ: st.Mode & unix.S_IFMT, uid: int(st.Uid), mode: uint32(st.Mode) & 0o7777, mount: st.Mnt_id,
	}
}

func nanos(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

func kindOf(mode uint16) jobspec.FileKind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return jobspec.KindRegular
	case unix.S_IFDIR:
		return jobspec.KindDir
	case unix.S_IFSOCK:
		return jobspec.KindSocket
	case unix.S_IFCHR, unix.S_IFBLK:
		return jobspec.KindDevice
	default:
		return jobspec.KindOther
	}
}

// onlyRoot reports whether nobody but root can change the file or, for a
// directory, what its names lead to. A POSIX ACL that grants writing shows in
// the group bits, which then are its mask (acl(5)).
func (m meta) onlyRoot() bool { return m.uid == 0 && m.mode&0o022 == 0 }
