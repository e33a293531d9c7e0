package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each decision has a number of its own, the same in its name and its heading,
// and a line in design.md.
func TestDecisionsAreNumberedAndListed(t *testing.T) {
	design := readDoc(t, "../docs/design.md")
	files, err := os.ReadDir("../docs/adr")
	if err != nil || len(files) == 0 {
		t.Fatalf("no decisions: %v", err)
	}
	for i, f := range files { // sorted by name
		if !strings.HasPrefix(f.Name(), fmt.Sprintf("%04d-", i+1)) {
			t.Errorf("%s is number %d", f.Name(), i+1)
		}
		if text := readDoc(t, filepath.Join("../docs/adr", f.Name())); !strings.HasPrefix(text, fmt.Sprintf("# %d. ", i+1)) {
			t.Errorf("%s begins with another number", f.Name())
		}
		if line := fmt.Sprintf("- [%d](adr/%s): ", i+1, f.Name()); !strings.Contains(design, line) {
			t.Errorf("design.md has no line %q", line)
		}
	}
}
