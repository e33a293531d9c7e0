// Package auditkey keeps the one key that the service holds: the audit key,
// which signs checkpoints of the ledger as notes (golang.org/x/mod/sumdb/note,
// C2SP signed-note) and can sign no op.
//
// It promises to be the only package that reads that file, and to hand out
// nothing but a note.Signer. It refuses to write over an existing key and to
// read one that others can reach. cmd may import it; the room store takes the
// note.Signer.
package auditkey
