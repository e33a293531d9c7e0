// Package store is what sbxcron remembers: the chain of signed ops, the pin of
// its head, the ledger of what happened, the outputs of runs, and the copies of
// trust files that were once in force.
//
// Promises. A State holds only ops that hash links prove from the pin back to
// genesis. An op whose Commit returned nil is in force and pinned, whatever
// crashes after; one whose Commit did not return never was, or waits beyond the
// pin to be judged again. A leaf whose Append returned nil survives a power
// cut. After an error in a commit or an append the state is unknown, and the
// handle refuses all further work until it is opened again.
//
// Refusals. A chain without the pinned op, a pin without a chain, a chain
// without a pin and an op that differs from its hash are errors with a code of
// their own; none of them is repaired, and no missing database is made anew,
// since an empty one would mean "nothing was ever removed". What can be derived
// (runs.db) is rebuilt; what cannot is left as it is found.
//
// The package knows no keys: who calls Commit or AdvancePin has verified the
// signature. bbolt keeps no checksums of its pages, so every value read on the
// way to a run is held against its digest.
//
// It imports jobspec, golang.org/x/sys and bbolt. The rooms above it, which are
// cmd and tests, may import it.
package store
