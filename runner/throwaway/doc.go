// Package throwaway lends uids that exist for one run only: system-mode jobs
// without an account of their own run under one.
//
// It promises that a lent uid lies in 61184 to 65519 (the range that systemd
// keeps for the same purpose), is in no passwd or group file, is not lent by
// systemd, belongs to no running process, and is lent to no other run. What it
// cannot find out is an error; it never guesses that a uid is free. It refuses
// to lend one beyond the range.
//
// A uid is also the gid of the run. Only the runner's wiring in cmd and its
// backends may import it; it imports the standard library.
package throwaway
