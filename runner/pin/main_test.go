package pin

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	ChildMain()
	mountChild()
	closedChild()
	os.Exit(m.Run())
}
