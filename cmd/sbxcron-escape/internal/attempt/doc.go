// Package attempt makes the attempts of the list of escapes, one after another,
// and says what the kernel answered. Whether that is right is judged outside.
//
// It promises to do no lasting harm where an attempt succeeds: a file that opens
// is closed again, what can be written gets a line. Attempts are made in worker
// processes: one that dies, hangs or gets through takes no other with it.
package attempt
