package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/store/safefile"
)

// appendFlag is FS_APPEND_FL of linux/fs.h, which chattr(1) calls a.
const appendFlag = 0x20

// ProtectReceipts makes the receipts, where they are not there yet, and sets the
// flag that lets the kernel only append to them: nobody can shorten, replace or
// remove them then, not even root before the flag is taken away again, which needs
// a capability that the service has not. File systems without the flag, and
// callers who may not set it, are an error that says so.
func ProtectReceipts(d Dirs) error {
	if err := makeDir(d.LedgerDir(), 0o700); err != nil {
		return err
	}
	f, err := safefile.Open(d.Receipts(), os.O_RDONLY, safefile.Options{UID: d.UID, Secret: true})
	if errors.Is(err, fs.ErrNotExist) {
		if err := safefile.Create(d.Receipts(), nil, 0o600); err != nil {
			return err
		}
		f, err = safefile.Open(d.Receipts(), os.O_RDONLY, safefile.Options{UID: d.UID, Secret: true})
	}
	if err != nil {
		return err
	}
	defer f.Close()
	flags, err := flagsOf(f)
	if err == nil && flags&appendFlag == 0 {
		err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags|appendFlag)
	}
	if err != nil {
		return fmt.Errorf("make %q append-only: %w", d.Receipts(), err)
	}
	return nil
}

// ReceiptsProtected reports whether the receipts have that flag.
func ReceiptsProtected(d Dirs) (bool, error) {
	f, err := safefile.Open(d.Receipts(), os.O_RDONLY, safefile.Options{UID: d.UID, Secret: true})
	if err != nil {
		return false, err
	}
	defer f.Close()
	flags, err := flagsOf(f)
	return flags&appendFlag != 0, err
}

func flagsOf(f *os.File) (int, error) { return unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS) }
