package cgroup

import (
	"fmt"
	"sync"
	"testing"
)

// Services come and go while others start runs. Each sweeps what it takes for
// dead as it opens, and removes its own folder as it closes.
func TestServicesThatOpenAndCloseTakeNothingFromOthers(t *testing.T) {
	living := held(t, func(h Held) bool { return h.Kill || h.Memory })
	want := living.Held()
	run := t.TempDir()
	var all sync.WaitGroup
	for n := range 6 {
		all.Go(func() {
			for round := range 25 {
				// Half of them share a RUN, as a service and a try of it do.
				tree := Open(Folder(fmt.Sprintf("%s/%d", run, n/2)))
				if tree.Held() != want {
					t.Errorf("service %d holds %+v, want %+v: %s", n, tree.Held(), want, tree.Why())
				}
				l, err := tree.Leaf(fmt.Sprintf("r-%d-%d", n, round), trial())
				if err != nil {
					t.Errorf("service %d: %v", n, err)
				} else if err := l.Remove(); err != nil {
					t.Error(err)
				}
				tree.Close()
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for n := 0; ; n++ {
		l, err := living.Leaf(fmt.Sprintf("live-%d", n), trial())
		if err != nil {
			t.Errorf("the service that lives: %v", err)
		} else if err := l.Remove(); err != nil {
			t.Error(err)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}
