// Package ends makes what lies between a backend and a job: pipes with one end for
// each side, sealed memory files, standard input. It knows nothing of plans.
// Only backends import it.
package ends
