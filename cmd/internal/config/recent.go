package config

import (
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
)

// recentTime is how long what was read may stand in for a look at the files, even
// where their mark is the same: the mark says nothing of the folders above CONF, nor
// of the accounts that names in a policy stand for.
const recentTime = time.Second

// Recent remembers the policy and the trust files for as long as the mark of CONF is
// the one that was taken before they were read, and for a second at most: of many
// triggers at one time each looks whether anything has changed, and one reads. What
// cannot be told apart by the mark is read each time. Nil remembers nothing. It may
// be used by many goroutines; what it gives is shared, and nobody changes it.
type Recent struct {
	policy recent[*jobspec.Policy]
	trust  recent[trustRead]
}

type trustRead struct {
	files TrustFiles
	trust *signing.Trust
}

// Policy is that of the site, which must not be older than the newest that its pin
// knows of.
func (r *Recent) Policy(s Site) (*jobspec.Policy, error) {
	read := func() (*jobspec.Policy, error) {
		p, err := store.ReadPin(s.Dirs)
		if err != nil {
			return nil, err
		}
		return s.Policy(p.PolicySerial)
	}
	if r == nil {
		return read()
	}
	return r.policy.get(s, read)
}

// Trust is that of the site, with the bytes that it was read from.
func (r *Recent) Trust(s Site) (*signing.Trust, TrustFiles, error) {
	read := func() (trustRead, error) {
		f, err := s.TrustFiles()
		if err != nil {
			return trustRead{}, err
		}
		t, err := signing.ParseTrust(f.AllowedSigners, f.RevokedKeys, signing.Algorithms{})
		return trustRead{f, t}, err
	}
	var got trustRead
	var err error
	if r == nil {
		got, err = read()
	} else {
		got, err = r.trust.get(s, read)
	}
	return got.trust, got.files, err
}

// recent is one thing that was read.
type recent[T any] struct {
	mu   sync.Mutex
	mark string // "" for nothing
	read time.Time
	got  T
}

// get gives what is remembered, or reads. An error is not remembered.
func (r *recent[T]) get(s Site, read func() (T, error)) (T, error) {
	began := time.Now()
	mark, sure := s.Mark(began) // before anything is read: what changes after it changes the mark
	r.mu.Lock()
	if sure && mark == r.mark && began.Sub(r.read) < recentTime {
		defer r.mu.Unlock()
		return r.got, nil
	}
	r.mu.Unlock()
	got, err := read()
	if err != nil || !sure {
		return got, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mark, r.read, r.got = mark, began, got
	return got, nil
}
