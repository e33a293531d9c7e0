// Package schedulertest holds a clock that tests move by hand and ports of the
// scheduler that live in memory. Tests alone import it.
package schedulertest
