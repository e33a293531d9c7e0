package checkpoint

import (
	"encoding/base64"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/sbxcron/sbxcron/store/merkle"
)

// Keys are the keys of one log by epoch, each certified by the one before. It is
// made with the key of one epoch, and End takes the last checkpoint of each epoch
// in, in order.
type Keys struct {
	origin string
	first  int64    // the epoch of keys[0]
	keys   []string // verifier keys
	start  Checkpoint
	ends   []Checkpoint // of all but the last key's epoch
}

// NewKeys begins with the key that genesis certifies, which is that of epoch 1.
func NewKeys(genesis string) (*Keys, error) {
	return ResumeKeys(1, genesis, Checkpoint{Root: merkle.EmptyRoot()})
}

// ResumeKeys begins with the key of a later epoch, which the caller has remembered
// from a Keys, as Key gives it, and with a checkpoint that none may lie before.
func ResumeKeys(epoch int64, key string, after Checkpoint) (*Keys, error) {
	v, err := note.NewVerifier(key)
	if err != nil || epoch < 1 {
		return nil, invalid("the key of epoch %d is no key of a log: %q", epoch, key)
	}
	return &Keys{origin: v.Name(), first: epoch, keys: []string{key}, start: after}, nil
}

// Epoch is the newest epoch whose key is known.
func (k *Keys) Epoch() int64 { return k.first + int64(len(k.ends)) }

// Key is the verifier key of that epoch.
func (k *Keys) Key() string { return k.keys[len(k.keys)-1] }

// Origin is the name of the log.
func (k *Keys) Origin() string { return k.origin }

// Ended is the last checkpoint of the epoch before the newest, and whether there
// is one.
func (k *Keys) Ended() (Checkpoint, bool) {
	if len(k.ends) == 0 {
		return Checkpoint{}, false
	}
	return k.ends[len(k.ends)-1], true
}

// End takes the last checkpoint of the newest epoch in. From then on the key that
// it certifies is the newest.
func (k *Keys) End(signed string) (Checkpoint, error) {
	c, err := k.Open(signed)
	switch {
	case err != nil:
		return Checkpoint{}, err
	case c.Epoch != k.Epoch():
		return Checkpoint{}, invalid("epoch %d is ended where epoch %d goes on", c.Epoch, k.Epoch())
	case !c.Ends():
		return Checkpoint{}, invalid("the last checkpoint of epoch %d names no next key", c.Epoch)
	}
	next, err := note.NewVerifier(c.Next)
	if err != nil || next.Name() != k.origin {
		return Checkpoint{}, invalid("the last checkpoint of epoch %d names a next key of another log: %q", c.Epoch, c.Next)
	}
	for _, old := range k.keys {
		if old == c.Next {
			return Checkpoint{}, invalid("the last checkpoint of epoch %d names a key that was used before", c.Epoch)
		}
	}
	k.keys = append(k.keys, c.Next)
	k.ends = append(k.ends, c)
	return c, nil
}

// Open gives a checkpoint, if the key of its epoch signed it and it lies where
// that epoch does.
func (k *Keys) Open(signed string) (Checkpoint, error) {
	text, line, err := split(signed)
	if err != nil {
		return Checkpoint{}, err
	}
	c, err := parse(text)
	if err != nil {
		return Checkpoint{}, err
	}
	switch {
	case c.Origin != k.origin:
		return Checkpoint{}, invalid("a checkpoint of the log %q, not of %q", c.Origin, k.origin)
	case c.Epoch < k.first || c.Epoch > k.Epoch():
		return Checkpoint{}, invalid("a checkpoint of epoch %d, whose key nobody has certified", c.Epoch)
	}
	if err := verify(k.keys[c.Epoch-k.first], signed, line); err != nil {
		return Checkpoint{}, invalid("a checkpoint of epoch %d that its key has not signed", c.Epoch)
	}
	return c, k.placed(c, signed)
}

// placed says whether c lies between the end of the epoch before and that of its
// own. An epoch has one last checkpoint.
func (k *Keys) placed(c Checkpoint, signed string) error {
	at := int(c.Epoch - k.first)
	before := k.start
	if at > 0 {
		before = k.ends[at-1]
	}
	if err := follows(before, c); err != nil {
		return err
	}
	if at >= len(k.ends) {
		return nil
	}
	if c.Ends() && c != k.ends[at] {
		return &Error{forkCode, "epoch " + itoa(c.Epoch) + " has two last checkpoints"}
	}
	return follows(c, k.ends[at])
}

// verify holds the one signature of a note against a key.
func verify(key, signed, line string) error {
	v, err := note.NewVerifier(key)
	if err != nil {
		return err
	}
	n, err := note.Open([]byte(signed), note.VerifierList(v))
	if err != nil {
		return err
	}
	if len(n.Sigs) != 1 || "\u2014 "+n.Sigs[0].Name+" "+n.Sigs[0].Base64+"\n" != line || !canonical(n.Sigs[0].Base64) {
		return formError("it is not signed as ours are")
	}
	return nil
}

// canonical refuses other spellings of the same bytes in base64.
func canonical(s string) bool {
	b, err := base64.StdEncoding.DecodeString(s)
	return err == nil && base64.StdEncoding.EncodeToString(b) == s && !strings.ContainsAny(s, "\r\n")
}
