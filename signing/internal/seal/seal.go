// Package seal holds the token without which no statement can be made. Being
// internal to signing, only the verifier can get one.
package seal

// Token proves that its holder is a package below signing. The zero value
// proves nothing and is refused.
type Token struct{ genuine bool }

// New returns a genuine token.
func New() Token { return Token{genuine: true} }

// Genuine reports whether the token came from New.
func (t Token) Genuine() bool { return t.genuine }
