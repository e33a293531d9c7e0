package jobspec

import "slices"

// runAs: in system mode the account is one that the ceiling lists, and is still
// the one that was bound. A name may change its uid between add and run, so uid
// and gid are compared, and never looked up to be used.
func (j *judge) runAs(c Ceiling) {
	r := j.spec.RunAs
	switch {
	case !j.in.Host.System && !r.IsZero():
		j.no(CodeRunAsForbidden, r.User, "run_as is for system mode; here jobs run as the owner")
	case !j.in.Host.System:
	case r.IsZero() && j.op.Tier == Workspace:
		j.finding(Check{Code: CodeRunAsForbidden, Target: "run_as", Detail: "a workspace job in system mode runs as an account of its own",
			Remedy: "name the account with --run-as"})
	case r.IsZero(): // a throw-away uid
	default:
		j.account(c, r)
	}
}

func (j *judge) account(c Ceiling, r RunAs) {
	switch {
	case r.UID <= 0 || r.GID <= 0 || r.User == "root":
		j.no(CodeRunAsForbidden, r.User, "uid %d, gid %d: no job runs as root", r.UID, r.GID)
		return
	case r.UID == j.in.Host.UID:
		j.no(CodeRunAsForbidden, r.User, "uid %d is the service's own", r.UID)
		return
	case !slices.Contains(c.RunAs, r.User):
		j.no(CodeRunAsForbidden, r.User, "run_as of %s does not list it", j.op.Principal)
	}
	if j.in.Host.LookupUser == nil {
		j.no(CodeInternal, r.User, "accounts cannot be looked up")
		return
	}
	now, ok := j.in.Host.LookupUser(r.User)
	switch {
	case !ok:
		j.no(CodeDriftUser, r.User, "there is no such account")
	case now != r:
		j.no(CodeDriftUser, r.User, "uid %d, gid %d was bound, it is %d, %d now", r.UID, r.GID, now.UID, now.GID)
	}
}
