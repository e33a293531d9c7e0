package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/store"
)

// still is a site whose files have lain still for long enough to be told apart.
func still(t *testing.T) Site {
	t.Helper()
	conf := t.TempDir()
	s := Site{Dirs: store.Dirs{Conf: conf, State: t.TempDir(), UID: os.Getuid()}}
	for _, path := range []string{s.Dirs.AllowedSigners(), s.Dirs.RevokedKeys(), s.Dirs.Policy(), s.Dirs.Host(), s.Dirs.Pin()} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(settled + 100*time.Millisecond)
	if _, ok := s.Mark(time.Now()); !ok {
		t.Skipf("no change can be told from none on the file system of %s", conf)
	}
	return s
}

func TestWhatWasReadIsGivenAgainUntilAnythingChanges(t *testing.T) {
	s := still(t)
	n := 0
	read := func() (int, error) { n++; return n, nil }
	var r recent[int]
	for range 3 {
		if got, err := r.get(s, read); got != 1 || err != nil {
			t.Fatalf("got %d, %v: read anew without a cause", got, err)
		}
	}
	if err := os.WriteFile(s.Dirs.RevokedKeys(), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want := 2; want < 4; want++ { // and as long as it changed a moment ago, each time
		if got, err := r.get(s, read); got != want || err != nil {
			t.Fatalf("got %d, %v: a change was not seen", got, err)
		}
	}
}

func TestWhatWasReadIsReadAnewAfterAWhile(t *testing.T) {
	s := still(t)
	n := 0
	read := func() (int, error) { n++; return n, nil }
	var r recent[int]
	_, _ = r.get(s, read)
	r.read = r.read.Add(-recentTime)
	if got, err := r.get(s, read); got != 2 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestAFaultIsNotRemembered(t *testing.T) {
	s := still(t)
	var r recent[int]
	fault := errors.New("a fault")
	if _, err := r.get(s, func() (int, error) { return 0, fault }); err != fault {
		t.Fatal(err)
	}
	if got, err := r.get(s, func() (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}
