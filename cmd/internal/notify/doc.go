// Package notify tells people that a job has stopped. It watches the ledger, keeps
// one open problem a job, and hands notices to the sender (package send) over the
// channels of notify.toml.
//
// It promises that nothing here delays a run: the watcher takes a glance at lines
// that are durable already and puts what matters into a bounded queue; what did
// not fit is read from the ledger later. What it keeps in STATE/notify is derived:
// without it problems are found again and told once more. A notice is delivered at
// least once, under one id, or given up after some days, which is a line of the
// ledger. No output of a job, and nothing that a job can make up, leaves the
// machine unless notify.toml says so.
//
// Only cmd/internal/daemon imports it.
package notify
