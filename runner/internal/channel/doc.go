// Package channel makes the pipes through which shims in a job tell what was
// tried.
//
// It promises that a pipe cannot be found by anybody who was not told its name,
// and that names which a killed service left are taken away by the next one. What
// comes through a pipe is opaque here: only a process with the job's own rights
// reads it. Only backends import it.
package channel
