package daemon

import (
	"errors"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// The uids of the table, and the accounts that the passwd file gives them.
const (
	root     = 0
	service  = 990
	operator = 1001
	auditor  = 1002
	jobUser  = 1003
	other    = 1004
	nameless = 1005
)

func testRights(policyErr error) rights {
	names := map[int]string{root: "root", operator: "olga", auditor: "aki", jobUser: "uma", other: "otto"}
	p := &jobspec.Policy{Operators: []string{"olga", ""}, Auditors: []string{"aki", ""},
		Principals: map[jobspec.Principal]jobspec.Ceiling{"alice": {Users: []string{"uma", ""}}, "bob": {}}}
	return rights{owner: service, name: func(uid int) string { return names[uid] },
		policy: func() (*jobspec.Policy, error) { return p, policyErr }}
}

func TestRightsFollowTheUidAndThePolicy(t *testing.T) {
	r := testRights(nil)
	for _, c := range []struct {
		uid                          int
		who                          jobspec.Principal
		operator, auditor, read, act bool
	}{
		{root, "alice", true, true, true, true},
		{service, "alice", true, true, true, true},
		{operator, "alice", true, true, true, true},
		{auditor, "alice", false, true, true, false},
		{jobUser, "alice", false, false, true, true},
		{jobUser, "bob", false, false, false, false},
		{jobUser, "", false, false, false, false},
		{other, "alice", false, false, false, false},
		{nameless, "alice", false, false, false, false},
	} {
		if r.operator(c.uid) != c.operator || r.auditor(c.uid) != c.auditor || r.mayRead(c.uid, c.who) != c.read || r.mayAct(c.uid, c.who) != c.act {
			t.Errorf("uid %d about %q: operator %v, auditor %v, read %v, act %v", c.uid, c.who,
				r.operator(c.uid), r.auditor(c.uid), r.mayRead(c.uid, c.who), r.mayAct(c.uid, c.who))
		}
	}
}

func TestAPolicyThatCannotBeReadGivesNobodyAnything(t *testing.T) {
	r := testRights(errors.New("no policy"))
	for _, uid := range []int{operator, auditor, jobUser, other, nameless} {
		if r.operator(uid) || r.auditor(uid) || r.mayRead(uid, "alice") || r.mayAct(uid, "alice") {
			t.Errorf("uid %d has rights", uid)
		}
	}
	if !r.operator(root) || !r.operator(service) {
		t.Error("root or the owner is locked out")
	}
}

func TestTheMeterCountsEachUidByItself(t *testing.T) {
	m, now := newMeter(opPace), time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for range int(opPace.burst) {
		if !m.allow(jobUser, now) {
			t.Fatal("refused within the burst")
		}
	}
	if m.allow(jobUser, now) {
		t.Error("more than the burst at once")
	}
	if !m.allow(other, now) {
		t.Error("one uid used up another's")
	}
	if m.allow(jobUser, now.Add(-time.Hour)) {
		t.Error("a clock that stepped back gave a token")
	}
	later := now.Add(-time.Hour).Add(time.Second)
	for i := range int(opPace.rate) {
		if !m.allow(jobUser, later) {
			t.Errorf("token %d of a second was not given", i)
		}
	}
	if m.allow(jobUser, later) {
		t.Errorf("more than %v in a second", opPace.rate)
	}
}
