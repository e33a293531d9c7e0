package statedir

import (
	"github.com/sbxcron/sbxcron/runner/internal/rights"
	"github.com/sbxcron/sbxcron/runner/pin"
)

// as runs f with the file system rights of an account.
func as(a pin.Account, f func() error) error {
	if !a.Drop {
		return f()
	}
	return rights.As(a.UID, a.GID, f)
}

// withGroup runs f with our own uid and the account's group: what f makes
// belongs to that group.
func withGroup(a pin.Account, f func() error) error {
	if !a.Drop {
		return f()
	}
	return rights.OnThread(func() error {
		if err := rights.TakeGroup(a.GID); err != nil {
			return err
		}
		return f()
	})
}
