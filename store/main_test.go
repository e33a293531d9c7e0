package store_test

import (
	"os"
	"testing"
)

// TestMain gives the test binary its other lives: a child that is killed at a
// step, or that holds the lock. The shipped programs have nothing of the kind.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childFlag {
		os.Exit(runChild(os.Args[2:]))
	}
	os.Exit(m.Run())
}
