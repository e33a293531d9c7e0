package checkpoint

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store/merkle"
)

// MaxBytes bounds a signed checkpoint. Ours have some 340 bytes, 450 at the end of an epoch.
const MaxBytes = 4 << 10

// Origin is the name of a host's log, and of all keys that sign for it.
func Origin(host jobspec.HostID) string { return "sbxcron-" + string(host) }

// Checkpoint says how a ledger was at one time.
type Checkpoint struct {
	Origin string
	Size   int64           // lines
	Root   merkle.Hash     // of their tree
	Epoch  int64           // from 1 on; names the key
	Time   jobspec.Instant // by the clock of the service; nothing is ordered by it
	Seq    int64           // of the head of the chain of ops
	Head   jobspec.Digest  // of that op
	Next   string          // verifier key of the next epoch; in the last checkpoint of an epoch alone
}

// Ends reports whether c is the last of its epoch.
func (c Checkpoint) Ends() bool { return c.Next != "" }

// Text is what is signed.
func (c Checkpoint) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%d\n%s\nepoch %d\ntime %s\nchain %d %s\n", c.Origin, c.Size, c.Root.Base64(), c.Epoch, c.Time, c.Seq, c.Head)
	if c.Ends() {
		fmt.Fprintf(&b, "next %s\n", c.Next)
	}
	return b.String()
}

// Sign gives the signed note.
func (c Checkpoint) Sign(key note.Signer) (string, error) {
	if key.Name() != c.Origin {
		return "", fmt.Errorf("sign checkpoint of %q: the key is that of %q", c.Origin, key.Name())
	}
	text := c.Text()
	if back, err := parse(text); err != nil || back != c {
		return "", fmt.Errorf("sign checkpoint: %q is none", text)
	}
	signed, err := note.Sign(&note.Note{Text: text}, key)
	if err != nil {
		return "", fmt.Errorf("sign checkpoint: %w", err)
	}
	return string(signed), nil
}

// parse reads what Text wrote, and no other spelling of it.
func parse(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if n := len(lines); n != 7 && n != 8 || lines[n-1] != "" {
		return Checkpoint{}, formError("it has not six or seven lines")
	}
	c := Checkpoint{Origin: lines[0]}
	var err error
	if c.Size, err = count(lines[1]); err != nil {
		return Checkpoint{}, err
	}
	if c.Root, err = merkle.ParseHash(lines[2]); err != nil {
		return Checkpoint{}, formError(err.Error())
	}
	if c.Epoch, err = count(strings.TrimPrefix(lines[3], "epoch ")); err != nil {
		return Checkpoint{}, err
	}
	if err := c.Time.UnmarshalText([]byte(strings.TrimPrefix(lines[4], "time "))); err != nil {
		return Checkpoint{}, formError(err.Error())
	}
	seq, digest, _ := strings.Cut(strings.TrimPrefix(lines[5], "chain "), " ")
	if c.Seq, err = count(seq); err != nil {
		return Checkpoint{}, err
	}
	if err := c.Head.UnmarshalText([]byte(digest)); err != nil {
		return Checkpoint{}, formError(err.Error())
	}
	if len(lines) == 8 {
		c.Next = strings.TrimPrefix(lines[6], "next ")
	}
	switch {
	case c.Text() != text:
		return Checkpoint{}, formError("it is spelled otherwise than ours are")
	case c.Origin == "" || c.Epoch < 1 || c.Head.IsZero() || c.Time.IsZero():
		return Checkpoint{}, formError("a line of it says nothing")
	}
	return c, nil
}

func count(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > merkle.MaxSize {
		return 0, formError(fmt.Sprintf("%q is no number of it", s))
	}
	return n, nil
}

// Unverified reads a note without asking who signed it: to see which host and
// epoch it names. Nothing may rest on it.
func Unverified(signed string) (Checkpoint, error) {
	text, _, err := split(signed)
	if err != nil {
		return Checkpoint{}, err
	}
	return parse(text)
}

// split parts a note with one signature into its text and the signature's line.
func split(signed string) (text, signature string, err error) {
	if len(signed) > MaxBytes {
		return "", "", formError(fmt.Sprintf("it has more than %d bytes", MaxBytes))
	}
	text, signature, ok := strings.Cut(signed, "\n\n")
	if !ok || strings.Count(signature, "\n") != 1 || !strings.HasSuffix(signature, "\n") {
		return "", "", formError("it is not a text, an empty line and one signature")
	}
	return text + "\n", signature, nil
}
