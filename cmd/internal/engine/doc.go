// Package engine does on the files what api.Service promises: it verifies,
// judges and commits ops, reads history, and answers for the audit.
//
// The service holds one Engine for its life, with the lock; a command without a
// service opens one for reading, and with the lock for the time of a commit. It
// holds no key and can make no signature.
package engine
