package cmd_test

import (
	"os"
	"strings"
	"testing"
)

// Code that is loaded into the service while it runs would have all of its
// rights, whatever sandbox its jobs are in. The program has no way to load any:
// neither Go's plugins nor the C library's dlopen, which needs cgo.
func TestNothingIsLoadedAtRunTime(t *testing.T) {
	found := false
	for _, p := range list(t) {
		if p.ImportPath != module+"cmd/sbxcron" {
			continue
		}
		found = true
		for _, dep := range p.Deps {
			if dep == "plugin" || strings.HasSuffix(dep, "/purego") || strings.Contains(dep, "wazero") || strings.Contains(dep, "wasmtime") {
				t.Errorf("the program is linked with %s", dep)
			}
		}
	}
	if !found {
		t.Fatal("the program is not among the packages")
	}
	rules, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(rules), "CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/sbxcron") {
		t.Error("make build does not build the program without cgo")
	}
}
