// Package hear hears to its end what a run says: its output, what its shims tell,
// and the result that an agent printed.
//
// It promises that nothing that a job wrote is parsed here: a witness with the
// job's own rights does that. A run of which not everything could be heard is no
// success. Only backends import it.
package hear
