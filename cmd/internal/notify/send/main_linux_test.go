package send

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	ChildMain()
	tryConfined()
	os.Exit(m.Run())
}
