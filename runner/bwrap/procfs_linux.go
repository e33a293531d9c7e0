package bwrap

import (
	"os"
)

// procfs is how a sandbox gets its /proc.
type procfs struct {
	masks []string // files that are covered
	outer bool     // it is the one around us, read-only and closed by landlock
}

// args are the options. A new procfs shows the processes of the sandbox alone;
// its /proc/sys is that of the network and IPC namespaces, and of the kernel. The
// procfs around us is bound with everything that was mounted over it: the kernel
// keeps such mounts together for whoever has another user namespace.
func (p procfs) args(dst string) []string {
	args := []string{"--proc", dst, "--ro-bind", "/proc/sys", dst + "/sys"}
	if p.outer {
		args = []string{"--ro-bind", "/proc", dst}
	}
	for _, name := range p.masks {
		args = append(args, "--ro-bind", "/dev/null", name)
	}
	return args
}

// procMasks are files of procfs that tell of the kernel or of keys. They are
// covered where this kernel has them.
func procMasks() []string {
	var found []string
	for _, name := range []string{"/proc/keys", "/proc/kallsyms", "/proc/timer_list", "/proc/kcore", "/proc/key-users", "/proc/sysrq-trigger"} {
		if _, err := os.Lstat(name); err == nil {
			found = append(found, name)
		}
	}
	return found
}
