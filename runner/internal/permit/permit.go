// Package permit holds the token without which no plan is made from an order
// that nobody signed. Being internal to runner, only backends, for the canary
// of their probe, and the conformance suite can get one.
package permit

// Permit proves that its holder is a package below runner. The zero value
// proves nothing and is refused.
type Permit struct{ genuine bool }

// New returns a genuine permit.
func New() Permit { return Permit{genuine: true} }

// Genuine reports whether the permit came from New.
func (p Permit) Genuine() bool { return p.genuine }
