// Package checkpoint is what the service signs about its ledger: how many lines it
// had, the root of their tree, and the head of the chain of ops at that time. A
// checkpoint is a signed note (C2SP signed-note and tlog-checkpoint).
//
// Promises. A Checkpoint that Keys returned carries the signature of the one key
// that was certified for its epoch: by genesis for the first, by the last
// checkpoint of the epoch before for every other. Each checkpoint has one
// spelling.
//
// Refusals. A note without a signature of that key, one of an epoch whose key is
// not certified, one that is smaller than the epoch before it left the ledger or
// larger than its own epoch did, and one of another log: an older key says nothing
// about later lines, and a later key nothing about older ones.
//
// docs/ledger-format.md says all of it in bytes. The package imports jobspec,
// store/merkle and golang.org/x/mod (sumdb/note); the room store and what stands
// above it may import it.
package checkpoint
