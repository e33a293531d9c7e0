// Package witness reads what a job says, so that the service need not: the pipe
// through which shims tell what was tried, and the result that an agent printed.
// It runs as a process of its own with the rights of the job's account, no more,
// and hands on events of one fixed size. What it hands on is still a job's word
// about itself: the service takes only codes of a closed list and printable
// text from it, and a job that lies only spoils its own record.
//
// It refuses to be root, to open anything, and to hand on what is not exactly
// the form of an event. Only backends of the runner and mains import it.
package witness
