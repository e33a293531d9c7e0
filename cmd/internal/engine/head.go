package engine

import (
	"context"
	"slices"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/store"
)

// Head is what a new op must extend.
func (e *Engine) Head(context.Context) (api.Head, error) {
	chain, err := e.opened()
	if err != nil {
		return api.Head{}, err
	}
	head := e.headOf(chain.State())
	head.Credentials = e.grantedCredentials(chain.State().Pin.PolicySerial)
	return head, nil
}

// grantedCredentials are those that there is a value for and that the policy, which
// everybody may read, grants to somebody. Whoever may connect asks; the names of
// all others are nobody's business, as the folder that they lie in is.
func (e *Engine) grantedCredentials(serial int64) []string {
	p, err := e.Site.Policy(serial)
	if err != nil {
		return nil // and nothing can be added
	}
	return slices.DeleteFunc(e.Site.CredentialNames(), func(name string) bool {
		for _, c := range p.Principals {
			if slices.Contains(c.Credentials, name) {
				return false
			}
		}
		return true
	})
}

func (e *Engine) headOf(s *store.State) api.Head {
	return api.Head{Host: s.Host, Seq: s.View.Next, Prev: s.View.Head, Created: s.View.HeadCreated, Now: e.Now(), Jobs: s.View.JobsByPrincipal()}
}
