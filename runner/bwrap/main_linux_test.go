package bwrap

import (
	"os"
	"testing"

	"github.com/sbxcron/sbxcron/runner/pin"
)

func TestMain(m *testing.M) {
	pin.ChildMain()
	os.Exit(m.Run())
}
