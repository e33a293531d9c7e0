// Package pin opens the paths that a spec names and holds them open, so that
// what was judged is what is mounted and run.
//
// It promises four things. A path is opened component by component with
// openat2(2), without symbolic and magic links, and every later question (kind,
// owner, size, place) is asked of the descriptors, never of the path again. The
// bytes behind File are those that the observation's digest was
// computed over: a file that only root can change is held by its inode, every
// other file is copied into a memfd that is sealed before it is hashed. An
// account with Drop is served by a child process that already has that
// account's uid, gid and no groups; this process then uses no right of its own
// on such a path and believes the child nothing that it can ask the kernel. What
// cannot be opened is an observation with a problem, not an error, and no byte
// of it is held.
//
// It refuses sockets, devices and FIFOs by kind before it opens them, files
// over the size cap, and file systems of a foreign mount namespace.
//
// It judges nothing: jobspec.Decide does. SensitivePlaces only gathers where the
// places lie that no job gets.
//
// Every main that opens with Drop calls ChildMain first. runner, its backends and
// cmd may import it; it imports jobspec, the standard library and x/sys.
package pin
