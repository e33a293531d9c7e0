// Package cgroup bounds a run as a whole: memory, processes, CPU time.
//
// It takes what the machine gives: a delegated version 2 tree, the controllers
// of version 1, both with the version 2 tree for killing only, or nothing. It
// finds that out by doing: a place counts only when a folder could be made in
// it, its knobs were written, and a process was moved in. Each run has a folder
// of its own, a leaf, named by the run's id, below one folder of the service;
// what a dead service left is found there by these names, killed and removed.
//
// It promises that a process is in its leaf before its first instruction, and
// that a limit which it says is held is held by the kernel for all processes of
// the run together. It never moves a process of somebody else, and enables no
// controller in a group that holds others' processes. A machine where nothing
// can be held is not an error: Held says so, and Why.
//
// Backends import it; it knows no plan and no spec.
package cgroup
