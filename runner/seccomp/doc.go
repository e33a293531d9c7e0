// Package seccomp makes the system call filter that every job runs under.
//
// It promises a program, as data, for amd64 and arm64: another architecture's
// calls kill the process; x32, clone3, io_uring, openat2 and calls younger than
// this list do not exist; sockets of every family that was not opened for the run, namespaces, mounts, tracing,
// keys, modules, clocks and set-id bits are refused with EPERM. Arguments are
// compared in their low 32 bits where the kernel reads an int, so that bits
// above cannot hide a value (seccomp(2), NOTES).
//
// It refuses to make a program for any other architecture: a filter that does
// not know the numbers would let everything pass. The program is a list of what
// is refused; what a job can reach at all is the business of the mounts, the
// namespaces and landlock, each measured on its own.
//
// runner and its backends may import it. Programs are assembled by
// golang.org/x/net/bpf, whose emulator the tests run them in.
package seccomp
