package bwrap

import (
	"os"
	"testing"

	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/supervise"
)

func TestMain(m *testing.M) {
	pin.ChildMain()
	supervise.ChildMain()
	os.Exit(m.Run())
}
