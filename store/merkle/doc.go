// Package merkle is the tree over the lines of the ledger: that of RFC 6962, with
// SHA-256.
//
// Promises. Roots come from a Frontier, which is made of the lines themselves and
// lives in memory; no root that is signed depends on a byte of the file of hashes
// that was not held against a signed root before. The file is derived: proofs are
// made from it, and each proof is checked against the root before it is handed
// out, so a damaged file gives an error and never a wrong proof.
//
// Refusals. Sizes and indices that no tree has, proofs of the wrong length and
// proofs that do not lead to the root are errors.
//
// docs/ledger-format.md says all of it in bytes. The package imports
// golang.org/x/mod (sumdb/tlog) and nothing of ours; the room store and what
// stands above it may import it.
package merkle
