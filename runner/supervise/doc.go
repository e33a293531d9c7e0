// Package supervise answers what a job opens and executes by the names of its
// bound files.
//
// A copy is mounted over a name in a directory of the host, and whoever can
// rename there from outside takes the mount away with the name (rename(2), since
// Linux 3.18). So the calls that read or execute a file by its name wait for the
// answer of a helper process of the run (seccomp(2), SECCOMP_RET_USER_NOTIF):
//
//   - an open of a bound name gets a descriptor of the bytes that were hashed,
//     whatever lies at the name by then, with an offset of its own;
//   - an execve of a bound name goes on only while the name still means those
//     bytes, and is refused and told otherwise;
//   - everything else goes on as if nobody had asked.
//
// It promises that the bytes it hands out have the approved digest: it hashes
// them itself, from the sandbox's own root, before it says that it is ready. A
// path is read from the memory of the caller, which cannot be believed: a job
// that changes it meanwhile deceives itself about its own files and nobody else,
// since what a call may reach at all is decided by the mounts, landlock and the
// first filter. What cannot be read or resolved is refused, never let through.
//
// The helper is this program started once more (ChildMain), with the account of
// the job, no capability, no environment, no store, key or socket of the
// service, bounded memory and files. It dies with the service; when it dies, the
// kernel refuses what waits for an answer, and the run is killed.
//
// Only backends of the runner and mains import it. It imports runner for the
// words of the plan, runner/seccomp for numbers, and x/sys.
package supervise
