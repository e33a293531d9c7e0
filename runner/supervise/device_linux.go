package supervise

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/witness"
)

// The machine's own devices, by name and by the beginning of names: memory, the
// kernel's log, disks, machines and networks that could be made. Others that a
// sandbox does not have are looked for by programs that can do without.
var (
	devices = []string{"/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/uinput",
		"/dev/loop-control", "/dev/mapper/control", "/dev/console"}
	deviceStems = []string{"/dev/sd", "/dev/vd", "/dev/xvd", "/dev/hd", "/dev/nvme", "/dev/mmcblk", "/dev/dm-", "/dev/md", "/dev/loop",
		"/dev/vhost-", "/dev/input/", "/dev/hidraw"}
)

// lookAtDevice tells of the open of a device of the machine that the sandbox does
// not have. The kernel says so to the caller.
func (s *server) lookAtDevice(c call) {
	to := path.Clean(c.path)
	if !slices.Contains(devices, to) && !slices.ContainsFunc(deviceStems, func(stem string) bool { return strings.HasPrefix(to, stem) }) {
		return
	}
	fd, err := unix.Openat2(s.root, to, &unix.OpenHow{Flags: place, Resolve: inRoot})
	if err == nil {
		unix.Close(fd) // it was opened for the job
		return
	}
	s.tell(Event{Code: jobspec.CodeFsDeniedDevice, Target: witness.Words([]string{to}), Count: 1})
}
