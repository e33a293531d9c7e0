package seccomp

import "sync"

// listeners are the second programs of runs. There are few different ones, each
// made once, when it is asked for first. The map never changes.
var listeners = allListeners()

type listenerOf struct {
	arch  Arch
	watch Watch
}

func allListeners() map[listenerOf]func() (Program, error) {
	all := map[listenerOf]func() (Program, error){}
	for _, a := range []Arch{AMD64, ARM64} {
		for bits := range 1 << 3 {
			w := Watch{Names: bits&1 != 0, Opens: Opens{Inet: bits&2 != 0, Unix: bits&4 != 0}}
			all[listenerOf{a, w}] = sync.OnceValues(func() (Program, error) { return makeListener(a, w) })
		}
	}
	return all
}
