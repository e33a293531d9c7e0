package pin

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// chunk is how many bytes are copied or hashed between two looks at the context.
const chunk = 256 << 10

// seals make a memfd final: nobody, whatever descriptor or mapping of it they
// got hold of, can change its bytes or its length, nor take the seals off.
// F_ADD_SEALS refuses while a writable mapping exists. fcntl(2).
const seals = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL

// reopen opens the file behind a descriptor for reading, with an offset of its
// own at 0. O_NONBLOCK keeps a lease that the owner took on the file from
// holding the open up (fcntl(2), F_SETLEASE).
func reopen(f *os.File) (*os.File, error) {
	name := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("reopen %q: %w", f.Name(), err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// seal copies a file of at most max bytes into a sealed memfd. The copy comes
// first and nothing is read from the file again, so a file that grows or
// changes meanwhile gives some bytes, and the digest is that of those bytes.
func seal(ctx context.Context, f *os.File, max int64) (*os.File, trouble) {
	mem, err := newMemfd(f.Name())
	if err != nil {
		return nil, troubleOf(err)
	}
	n, err := copyBytes(ctx, mem, io.LimitReader(f, max+1))
	if err == nil {
		_, err = unix.FcntlInt(mem.Fd(), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		mem.Close()
		return nil, troubleOf(err)
	}
	if n > max {
		mem.Close()
		return nil, trouble{Why: whyTooLarge}
	}
	return mem, trouble{}
}

// newMemfd makes an executable memfd that can be sealed. MFD_EXEC says so where
// vm.memfd_noexec asks; kernels before 6.3 do not know it.
func newMemfd(name string) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("sbxcron-bound", flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate("sbxcron-bound", flags)
	}
	if err != nil {
		return nil, fmt.Errorf("make sealed copy of %q: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// isSealed asks the kernel whether f is a memfd with all our seals.
func isSealed(f *os.File) bool {
	got, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	return err == nil && got&seals == seals
}

// hashFile is the digest of all bytes of f. It reads with offsets of its own.
func hashFile(ctx context.Context, f *os.File, size int64) (jobspec.Digest, error) {
	h := sha256.New()
	n, err := copyBytes(ctx, h, io.NewSectionReader(f, 0, size))
	if err != nil {
		return jobspec.Digest{}, fmt.Errorf("hash %q: %w", f.Name(), err)
	}
	if n != size {
		return jobspec.Digest{}, fmt.Errorf("hash %q: %d of %d bytes: %w", f.Name(), n, size, io.ErrUnexpectedEOF)
	}
	return jobspec.Digest(h.Sum(nil)), nil
}

// copyBytes reads and writes plainly: a copy inside the kernel could share pages
// with the source, which must not change with it.
func copyBytes(ctx context.Context, w io.Writer, r io.Reader) (int64, error) {
	buf := make([]byte, chunk)
	var total int64
	for {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return total, err
			}
			total += int64(n)
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}
