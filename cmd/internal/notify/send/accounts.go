package send

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"

	"github.com/sbxcron/sbxcron/runner/throwaway"
)

// Accounts says who senders become: a throw-away uid of the pool each, or the
// account that a channel names in run_as. Without a pool, for an ordinary user's
// installation, they stay who they are and nobody can be named.
func Accounts(pool *throwaway.Pool) func(name string) (Account, error) {
	return func(name string) (Account, error) {
		switch {
		case pool == nil && name != "":
			return Account{}, errors.New("run_as is for an installation of root; leave it out")
		case pool == nil:
			return Account{}, nil
		case name != "":
			return named(name)
		}
		lease, err := pool.Take()
		if err != nil {
			return Account{}, err
		}
		return Account{UID: lease.UID(), GID: lease.UID(), Release: lease.Release}, nil
	}
}

func named(name string) (Account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return Account{}, fmt.Errorf("run_as: %w", err)
	}
	uid, err := strconv.Atoi(u.Uid)
	gid, gerr := strconv.Atoi(u.Gid)
	if err != nil || gerr != nil || uid <= 0 || gid <= 0 {
		return Account{}, fmt.Errorf("run_as: account %q has no uid and gid that a sender may have", name)
	}
	return Account{UID: uid, GID: gid}, nil
}
