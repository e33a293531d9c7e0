package bwrap

import "os"

// procfs is how a sandbox gets its /proc.
type procfs struct {
	masks []string // files that are covered
	outer bool     // it is the one around us, read-only and closed by landlock
}

// options mount it. A new procfs shows the processes of the sandbox alone; its
// /proc/sys is that of the network and IPC namespaces, and of the kernel. The
// procfs around us is bound with everything that was mounted over it: the kernel
// keeps such mounts together for whoever has another user namespace.
func (p procfs) options(l *line, dst string) {
	if p.outer {
		l.option("--ro-bind", "/proc", dst)
	} else {
		l.option("--proc", dst)
		l.option("--ro-bind", "/proc/sys", dst+"/sys")
	}
	for _, name := range p.masks {
		l.option("--ro-bind", "/dev/null", name)
	}
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
