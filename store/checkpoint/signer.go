package checkpoint

import "golang.org/x/mod/sumdb/note"

// Signer signs checkpoints with one private key.
type Signer = note.Signer

// Fits reports whether a signer is the one whose verifier key is key.
func Fits(s Signer, key string) bool {
	v, err := note.NewVerifier(key)
	return err == nil && v.Name() == s.Name() && v.KeyHash() == s.KeyHash()
}
