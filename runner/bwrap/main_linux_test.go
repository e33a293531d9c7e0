package bwrap

import (
	"os"
	"testing"

	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/supervise"
	"github.com/sbxcron/sbxcron/runner/witness"
)

func TestMain(m *testing.M) {
	filterMain() // in bwrap's place, for tests that take layers away
	pin.ChildMain()
	supervise.ChildMain()
	witness.ChildMain()
	os.Exit(m.Run())
}
