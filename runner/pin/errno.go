package pin

import (
	"errors"
	"syscall"
)

// errnoOf finds the errno in err's chain.
func errnoOf(err error) (syscall.Errno, bool) {
	var errno syscall.Errno
	ok := errors.As(err, &errno)
	return errno, ok
}
