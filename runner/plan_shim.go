package runner

import (
	"path"
	"slices"

	"github.com/sbxcron/sbxcron/runner/shim"
)

// Places of the shims inside.
const (
	ShimDir     = PrivateDir + "/bin"    // first in PATH, so that missing programs are seen as well
	ShimPath    = PrivateDir + "/shim"   // the one script; names in ShimDir are links to it
	ChannelPath = PrivateDir + "/events" // the pipe that it tells attempts through
)

// drawShims puts the stand-ins in place: a link for each name in ShimDir, and
// the script itself over every program of the table that this machine has,
// since a path need not go through PATH. A file that the owner approved is not
// covered: its bytes are part of the approval.
func (o Order) drawShims(b *Blueprint) error {
	b.data(ShimPath, shim.Script(ChannelPath, ""), 0o555)
	b.grant(ShimPath, ReadFile)
	for _, name := range shim.Names() {
		b.mount(Mount{Kind: Symlink, Dst: path.Join(ShimDir, name), Src: ShimPath})
	}
	for _, real := range o.Host.shims.Now() {
		if !slices.ContainsFunc(b.Mounts, func(m Mount) bool { return m.Dst == real }) {
			b.data(real, shim.Script(ChannelPath, path.Base(real)), 0o555)
		}
	}
	b.mount(Mount{Kind: Channel, Dst: ChannelPath})
	b.grant(ChannelPath, Tell)
	return nil
}
