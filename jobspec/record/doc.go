// Package record is the form of the ledger's lines: one Leaf is one fact that
// the service states, in canonical JSON.
//
// Leaves name the op's digest and never argv, environment or cwd, which the op
// has. Free text and the hashes of outputs stand in them as salted commitments,
// so that the value can be erased without breaking the line. Each due slot is
// covered by exactly one final leaf (see Kind.Final).
//
// It imports jobspec and the standard library; scheduler, runner and store
// import it.
package record
