package daemon

import (
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler"
)

// sharesOf is what a policy says of runs at one time. A principal's own file narrows
// it, as everywhere.
func sharesOf(p *jobspec.Policy) scheduler.Shares {
	out := scheduler.Shares{Principals: map[jobspec.Principal]int{}, Tiers: map[jobspec.Tier]int{}}
	for name := range p.Principals {
		if n := p.For(name).Principals[name].MaxConcurrent; n > 0 {
			out.Principals[name] = int(n)
		}
	}
	for tier, n := range p.MaxConcurrent {
		out.Tiers[tier] = int(n)
	}
	return out
}
