// Package engine does on the files what api.Service promises: it verifies,
// judges and commits ops, reads history, and answers for the audit.
//
// The service holds one Engine for its life, with the lock; a command without a
// service opens one for reading, and with the lock for the time of a commit. It
// holds no key and can make no signature.
//
// It refuses every op that may not extend the proven chain now, and says why.
// While the chain cannot be proven it refuses everything but reading. Only
// packages below cmd may import it.
package engine
