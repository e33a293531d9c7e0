package runner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

// The text of a plan is what records name by its digest.
func TestAMountIsPrintedInTheFormOfPlans(t *testing.T) {
	for _, m := range []Mount{
		{},
		{Kind: Data, Dst: "/etc/x", Perm: 0o555, What: jobspec.DigestOf([]byte("x"))},
		{Kind: Symlink, Dst: "/bin", Src: "usr/b\"in\n\xff"},
		{Kind: Tmpfs, Dst: "/tmp", Size: 64 << 20, Perm: 0o1777},
		{Kind: PinnedRO, Dst: "/srv/a b", Perm: 0o17, Size: -1},
		{Kind: Dev, Dst: "/dev", Perm: 0o123456},
		{Kind: 200, Dst: "/odd"},
	} {
		var got strings.Builder
		m.dump(&got)
		want := fmt.Sprintf("mount %s %s src %q size %d perm %04o %s\n", m.Kind, m.Dst, m.Src, m.Size, m.Perm, m.What)
		if got.String() != want {
			t.Errorf("got  %q\nwant %q", got.String(), want)
		}
	}
}
