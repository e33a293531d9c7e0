// Package landlock runs jobs where no sandbox with namespaces can be built: held
// by Landlock, system call filters and resource limits alone.
//
// It is weaker than package bwrap and says so: policy and spec must both accept
// weaker_backend_landlock by name, and each record has it. What it promises is
// measured by rows of the same stub before the payload runs: what is not granted
// can be neither read, listed, written, made nor cut; no signal leaves the job;
// no socket exists, no namespace, no mount, no device, no other right; files of
// the account cannot be changed by name in their owner, mode, times or
// attributes; the bytes that were hashed run; when the run is over, so is every
// process of it, which a keeper of the run sees to.
//
// What it does not have: a view of its own (the job sees that paths exist, the
// real account's name is not hidden by anything, /tmp and /home are closed rather
// than private), processes of its own (numbers of other processes can be
// guessed), bounds for the job as a whole, and a mount over a name. So it refuses
// plans that need such: a network, binds, holes in what is opened, declared files
// that are opened by name, credentials as files. It refuses to run as root.
//
// It is refused by name everything that it cannot do; nothing is left out
// silently. cmd may import it. It imports runner, jobspec and x/sys, and no other
// backend. A main that uses it calls ChildMain first.
package landlock
