// Package bwrap runs jobs in sandboxes that bubblewrap builds.
//
// It promises that a payload runs only after the stub has measured, inside the
// finished sandbox, every layer that the plan wants; that the program is the
// one root-owned /usr/bin/bwrap, without set-id bits and file capabilities,
// opened once and executed by that descriptor; that bwrap never runs as root;
// and that no process of a run outlives the backend, which starts all of them
// from one thread that lives as long as it does.
//
// It refuses plans that need what it does not have, machines on which its own
// canary does not pass, and a stub file that is not the emitted one. It has no
// setting that makes a sandbox weaker, and nothing names another program.
//
// cmd may import it. It imports runner, jobspec and x/sys, and no other backend.
package bwrap
