package daemon

import (
	"fmt"
	"os/user"
	"slices"
	"strconv"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// rights says what the peers of the socket may do, by their uid alone.
type rights struct {
	owner  int // the uid of the service: everything
	policy func() (*jobspec.Policy, error)
	name   func(uid int) string // of the account, "" if it has none
}

// accountName looks an account up in the passwd database.
func accountName(uid int) string {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return ""
	}
	return u.Username
}

// master reports root and the service's own uid.
func (r rights) master(uid int) bool { return uid == 0 || uid == r.owner }

// in reports whether the account of a uid stands in a list of policy.toml. A
// policy that cannot be read gives nobody anything.
func (r rights) in(uid int, list func(*jobspec.Policy) []string) bool {
	p, err := r.policy()
	name := r.name(uid)
	return err == nil && name != "" && slices.Contains(list(p), name)
}

func (r rights) operator(uid int) bool {
	return r.master(uid) || r.in(uid, func(p *jobspec.Policy) []string { return p.Operators })
}

func (r rights) auditor(uid int) bool {
	return r.operator(uid) || r.in(uid, func(p *jobspec.Policy) []string { return p.Auditors })
}

// user reports whether a uid is one of the principal's users.
func (r rights) user(uid int, who jobspec.Principal) bool {
	return r.in(uid, func(p *jobspec.Policy) []string { return p.Principals[who].Users })
}

// mayRead: show, explain, history and logs of a principal's jobs.
func (r rights) mayRead(uid int, who jobspec.Principal) bool {
	return r.auditor(uid) || r.user(uid, who)
}

// mayAct: run, cancel and hold a principal's jobs.
func (r rights) mayAct(uid int, who jobspec.Principal) bool {
	return r.operator(uid) || r.user(uid, who)
}

func forbidden(uid int, what string) error {
	return api.New(jobspec.CodeRoleInsufficient, fmt.Sprintf("uid %d may not %s", uid, what))
}
