package runner

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

func TestTheFileOfAStreamIsMadeWithItsFirstByte(t *testing.T) {
	path := t.TempDir() + "/out"
	made := func() (*os.File, error) { return os.Create(path) }
	quiet := NewCapture("out", MadeWhenNeeded(made), 100, nil)
	if got, err := quiet.Finish(); err != nil || got.Bytes != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a stream without a byte has a file, %v", err)
	}
	c := NewCapture("out", MadeWhenNeeded(made), 100, nil)
	fmt.Fprint(c, "early")
	if raw, err := os.ReadFile(path); string(raw) != "early" {
		t.Errorf("file holds %q, %v", raw, err)
	}
	if got, err := c.Finish(); err != nil || got.Kept != 5 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAFileThatCannotBeMadeIsReportedAndTheStreamStillDrained(t *testing.T) {
	why := errors.New("no room")
	c := NewCapture("out", MadeWhenNeeded(func() (*os.File, error) { return nil, why }), 100, nil)
	if n, err := fmt.Fprint(c, "lost"); n != 4 || err != nil {
		t.Fatalf("took %d, %v", n, err)
	}
	got, err := c.Finish()
	if !errors.Is(err, why) || got.Bytes != 4 || got.Kept != 0 || !got.Truncated {
		t.Errorf("%+v, %v", got, err)
	}
}
