package bwrap

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner"
)

func TestAPlaceIsFullWithoutBytesOrWithoutFiles(t *testing.T) {
	for name, c := range map[string]struct {
		st   unix.Statfs_t
		want string
	}{
		"room for both":        {unix.Statfs_t{Bsize: 4096, Blocks: 10, Bfree: 1, Files: 10, Ffree: 1}, ""},
		"no bytes":             {unix.Statfs_t{Bsize: 4096, Blocks: 10, Files: 10, Ffree: 1}, "all of its 40960 bytes are used"},
		"no files":             {unix.Statfs_t{Bsize: 4096, Blocks: 10, Bfree: 1, Files: 10}, "all of its 10 files are used"},
		"nothing that bounds":  {unix.Statfs_t{Bsize: 4096}, ""},
		"files have no bounds": {unix.Statfs_t{Bsize: 4096, Blocks: 10, Bfree: 1}, ""},
	} {
		if got := used(c.st); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAPlaceUnderAnotherMountIsNotAPrivateOne(t *testing.T) {
	p := &runner.Blueprint{Mounts: []runner.Mount{{Kind: runner.Tmpfs, Dst: "/tmp"}, {Kind: runner.Tmpfs, Dst: "/home/job"}, {Kind: runner.PinnedRW, Dst: "/home/job"}}}
	if got := privatePlaces(p); len(got) != 1 || got[0] != "/tmp" {
		t.Errorf("private places are %q", got)
	}
}
