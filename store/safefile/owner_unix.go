//go:build unix

package safefile

import (
	"fmt"
	"os"
	"syscall"
)

// Owner is the uid that path itself, not what a link points to, belongs to.
func Owner(path string) (int, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return -1, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, fmt.Errorf("owner of %q: unknown", path)
	}
	return int(st.Uid), nil
}
