package daemon

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing/auditkey"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/merkle"
)

func TestALogThatTakesNothingHoldsNobodyUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := tellSyslog(path, "x"); err == nil {
		t.Error("nobody listens, and it was told")
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	began := time.Now()
	for n := 0; ; n++ {
		if err = tellSyslog(path, strings.Repeat("x", 200)); err != nil {
			break
		}
		if n > 1<<16 {
			t.Fatal("its queue never fills")
		}
	}
	if took := time.Since(began); took > 5*syslogTime {
		t.Errorf("it took %s until it gave up: %v", took, err)
	}
}

// The line in the log is the whole note in another order.
func TestAnAnnouncementGivesTheNoteBack(t *testing.T) {
	origin := checkpoint.Origin("9c1f00000000000000000000000000ab")
	path := filepath.Join(t.TempDir(), "key")
	public, err := auditkey.Create(path, origin)
	if err != nil {
		t.Fatal(err)
	}
	key, err := auditkey.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, next := range []string{"", public} {
		c := checkpoint.Checkpoint{Origin: origin, Size: 7, Root: merkle.EmptyRoot(), Epoch: 3, Time: jobspec.InstantOf(time.Unix(1e9, 0)), Seq: 9, Head: jobspec.DigestOf(nil), Next: next}
		note, err := c.Sign(key)
		if err != nil {
			t.Fatal(err)
		}
		said := announcement(store.Signed{Checkpoint: c, Note: note})
		f := map[string]string{}
		words := strings.Fields(said)
		for _, w := range words[2:] {
			name, value, _ := strings.Cut(w, "=")
			f[name] = value
		}
		back := words[1] + "\n" + f["size"] + "\n" + f["root"] + "\nepoch " + f["epoch"] + "\ntime " + f["time"] + "\nchain " + strings.Replace(f["chain"], ":", " ", 1) + "\n"
		if f["next"] != "-" {
			back += "next " + f["next"] + "\n"
		}
		if back += "\n\u2014 " + words[1] + " " + f["sig"] + "\n"; back != note || words[0] != "checkpoint" {
			t.Errorf("%q gives\n%s\nwant\n%s", said, back, note)
		}
	}
}
