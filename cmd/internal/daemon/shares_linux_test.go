package daemon

import (
	"reflect"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler"
)

func TestTheSharesAreThoseOfThePolicyAsEachPrincipalNarrowsIt(t *testing.T) {
	p := &jobspec.Policy{Principals: map[jobspec.Principal]jobspec.Ceiling{"alice": {MaxConcurrent: 5}, "bob": {}},
		MaxConcurrent: map[jobspec.Tier]int64{jobspec.Workspace: 2},
		Owners: map[jobspec.Principal]jobspec.OwnerLayer{
			"alice": {Policy: &jobspec.Policy{Open: true, Principals: map[jobspec.Principal]jobspec.Ceiling{"alice": {MaxConcurrent: 3}}}},
			"bob":   {Policy: &jobspec.Policy{Open: true, Principals: map[jobspec.Principal]jobspec.Ceiling{"bob": {MaxConcurrent: 1}}}}}}
	want := scheduler.Shares{Principals: map[jobspec.Principal]int{"alice": 3, "bob": 1}, Tiers: map[jobspec.Tier]int{jobspec.Workspace: 2}}
	if got := sharesOf(p); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
