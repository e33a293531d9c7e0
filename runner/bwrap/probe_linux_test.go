package bwrap

import (
	"testing"
	"time"
)

func TestProbeRunsItsCanary(t *testing.T) {
	b, err := New(Options{RunDir: t.TempDir(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	said := b.Probe(t.Context())
	if !said.Usable {
		t.Fatalf("%+v", said)
	}
	t.Logf("%+v", said)
}
