package pin

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	ChildMain()
	mountChild()
	closedChild()
	fewChild()
	os.Exit(m.Run())
}
