package escape

import "github.com/sbxcron/sbxcron/jobspec"

// Answers that mean no, depending on which layer is asked first.
const (
	ro     = "EROFS EACCES"
	absent = "ENOENT EACCES"
	noWay  = "EPERM"
	barred = "EROFS EACCES EBUSY EXDEV EPERM"
)

// writes go to what is shown and may not be written, and to what is not shown.
func writes() []Attempt {
	return []Attempt{
		try("F01a", "make a file in a folder that is only read", "create {shown}/new", "read_only landlock", ro),
		try("F01b", "make a file in a folder that is not shown", "create {outside}/new", "view landlock", absent),
		try("F01c", "make one by way of the parent of the cwd", "create {work}/../outside/new", "view landlock", absent).in(jobspec.ReadOnly, jobspec.Workspace),
		try("F01d", "make a file in the root", "create /new", "read_only landlock", ro),
		try("F01e", "make a file among programs", "create /usr/local/bin/new", "read_only landlock uid", ro),
		try("F01f", "make a file in /etc", "create /etc/new", "read_only landlock", ro),
		try("F01g", "make a file in /dev", "create /dev/new", "read_only landlock", ro),
		try("F01h", "make a file in /run", "create /run/new", "view landlock uid", absent),
		try("F01j", "make a folder", "mkdir {shown}/newdir", "read_only landlock", ro),
		try("F01k", "make a link", "symlink /etc/passwd {shown}/newlink", "read_only landlock", ro),
		try("F01l", "make a pipe", "mkfifo {shown}/newpipe", "read_only landlock", ro),
		try("F01m", "make a nameless file", "tmpfile {shown}", "read_only landlock", ro),
		try("F01n", "make a file in the cwd of tier read-only", "create {work}/new", "read_only landlock", ro).in(jobspec.ReadOnly),
		try("F02a", "append to a file that everybody may write", "append {shown}/f", "read_only landlock", ro),
		try("F02b", "open one for writing and cut it", "opentrunc {shown}/f", "read_only landlock", ro),
		try("F02c", "cut a file by its path", "truncate {shown}/f", "read_only landlock", ro),
		try("F02d", "write to a file that is not shown", "append {outside}/f", "view landlock", absent),
		try("F02e", "write to a program of the system", "append /usr/bin/env", "read_only landlock uid", ro),
		try("F02f", "write to the list of accounts", "append /etc/passwd", "read_only landlock kernel", ro),
		try("F02g", "write to the roots of trust", "create /etc/ssl/certs/new", "read_only landlock uid", ro),
		try("F03a", "change a mode", "chmod 0600 {shown}/f", "read_only", ro),
		try("F03b", "change times", "utimes {shown}/f", "read_only", ro),
		try("F03c", "set an extended attribute", "setxattr user.x {shown}/f", "read_only", ro),
		try("F03d", "change the owner to itself", "chown {shown}/f", "read_only", ro),
		try("F03e", "remove a file", "unlink {shown}/x-unlink", "read_only landlock", ro),
		try("F03f", "remove a folder", "rmdir {shown}/d", "read_only landlock", ro),
		try("F03g", "rename a file", "rename {shown}/x-rename {shown}/renamed", "read_only landlock", ro),
		try("F05a", "write through /proc/self/root", "append /proc/self/root{shown}/f", "read_only landlock", ro),
		try("F05b", "write through the root of the first process", "append /proc/1/root{outside}/f", "landlock view", "EACCES EPERM ENOENT"),
		try("F05c", "write through the root of the parent", "append /proc/{parent}/root{shown}/f", "read_only landlock", "EROFS EACCES EPERM"),
		try("F05d", "write through the cwd of a thread", "append /proc/thread-self/cwd/../../../../..{shown}/f", "read_only landlock", "EROFS EACCES ENOENT"),
		try("F13a", "open a pathless descriptor anew for writing", "reopen {shown}/f", "read_only landlock", ro),
		try("F13b", "open a descriptor for reading anew for writing", "reopenread {shown}/f", "read_only landlock", ro),
		try("F13c", "change a mode through a descriptor", "chmodfd 0600 {shown}/f", "read_only", ro),
		try("F14a", "use a descriptor that the service left open", "createat {leaked} new", "fds landlock", "EBADF"),
		try("F14b", "find any descriptor beyond the three", "inherited", "fds", "none"),
		try("F16a", "write into a pipe that is shown", "appendnow {shown}/fifo", "landlock", "EACCES"),
		try("F16b", "write into a pipe that is not shown", "appendnow {outside}/fifo", "view landlock", absent),
		try("F18", "map a file for shared writing", "mapshared {shown}/f", "kernel", "EACCES EROFS"),
		try("F21", "write to the inode of its own program", "append {program}", "kernel", "EROFS EACCES ETXTBSY"),
	}
}

// protected are the names in a workspace that tools and people trust.
func protected() []Attempt {
	ws := jobspec.Workspace
	return []Attempt{
		try("F19a", "move a file into the hooks", "createmove {work}/evil {work}/.git/hooks/pre-commit", "read_only kernel", barred).in(ws),
		try("F19b", "change the configuration of git", "append {work}/.git/config", "read_only", ro).in(ws),
		try("F19c", "move .git away", "rename {work}/.git {work}/old", "read_only kernel", barred).in(ws),
		try("F19d", "remove the head", "unlink {work}/.git/HEAD", "read_only", ro).in(ws),
		try("F19e", "change a start-up file", "append {work}/.envrc", "read_only", ro).in(ws),
		try("F19f", "put another start-up file in its place", "createmove {work}/evil2 {work}/.envrc", "read_only kernel", barred).in(ws),
		try("F19g", "remove a start-up file", "unlink {work}/.envrc", "read_only kernel", barred).in(ws),
		try("F19h", "exchange .git with a folder of its own", "exchange {work}/.git {work}/sub", "read_only kernel", barred).in(ws),
		try("F19i", "make hooks executable", "chmod 0755 {work}/.git/config", "read_only", ro).in(ws),
		try("F19j", "link a hook", "symlink /bin/sh {work}/.git/hooks/post-merge", "read_only", ro).in(ws),
	}
}

// setIDs would be inert inside and not outside.
func setIDs() []Attempt {
	ws := jobspec.Workspace
	const dir = "{work}"
	return []Attempt{
		try("F26a", "set the set-uid bit", "chmod 04755 "+dir+"/own", "seccomp", noWay).in(ws),
		try("F26b", "set it through a descriptor", "chmodfd 06755 "+dir+"/own", "seccomp", noWay).in(ws),
		try("F26c", "set it by fchmodat2", "call fchmodat2 -100 "+dir+"/own 04755 0", "seccomp", noWay).in(ws),
		try("F26d", "make a file that has it", "createmode 04755 "+dir+"/made", "seccomp", noWay).in(ws),
		try("F26e", "make one by openat2, whose mode no filter sees", "openat2 04755 "+dir+"/made2", "seccomp", "ENOSYS").in(ws),
		try("F26f", "make a set-gid folder", "mkdirmode 02755 "+dir+"/madedir", "seccomp", noWay).in(ws),
		try("F26g", "make a node that has it", "mknod 0104755 0 "+dir+"/node", "seccomp", noWay).in(ws),
		try("F26h", "set it with bits above the low half of the mode", "call fchmodat -100 "+dir+"/own 0x100000dfd 0", "seccomp", noWay).in(ws),
		try("F26i", "give a program a file capability", "setcap "+dir+"/own", "capabilities kernel", noWay).in(ws),
		try("F26j", "make one in a private place", "createmode 04755 /tmp/made", "seccomp", noWay),
	}
}

// links and nodes try to give a second name to what lies elsewhere.
func links() []Attempt {
	return []Attempt{
		try("F04a", "link a file that is only read into a writable place", "link {shown}/f /tmp/linked", "kernel", "EXDEV EPERM EACCES"),
		try("F04b", "link it through a descriptor", "linkfd {shown}/f /tmp/linked2", "kernel", "EXDEV EPERM EACCES"),
		try("F04c", "move it into a writable place", "rename {shown}/x-move /tmp/moved", "kernel", barred),
		try("F04d", "exchange it with an own file", "exchange {shown}/f /tmp/own", "kernel", barred),
		try("F04e", "link a program of the system", "link /usr/bin/env /tmp/env", "kernel", "EXDEV EPERM EACCES"),
		try("F11a", "make a node of a disk", "mknod 0060666 0xfe00 /tmp/disk", "seccomp landlock kernel", noWay+" EACCES"),
		try("F11b", "make a node of the kernel's log", "mknod 0020666 0x10b /tmp/kmsg", "landlock kernel", noWay+" EACCES"),
		try("F12a", "read through a link that was there", "read {work}/link", "view landlock", absent).in(jobspec.ReadOnly, jobspec.Workspace),
		try("F12b", "read through a link of its own", "readlinked {outside}/secret /tmp/mylink", "view landlock", absent),
		try("F12c", "write through a link of its own", "writelinked {shown}/f /tmp/mylink2", "read_only landlock", ro),
		try("F33", "open a file by its handle", "byhandle {shown}/f", "seccomp kernel", noWay),
	}
}

// ground is what everything stands on. Who gets through here has nothing left to
// try the others with.
func ground() []Attempt {
	return []Attempt{
		try("F34a", "rename the cwd", "rename {work} {work}x", "kernel", barred).in(jobspec.ReadOnly, jobspec.Workspace),
		try("F34c", "remove the cwd", "rmdir {work}", "kernel", barred+" ENOTEMPTY").in(jobspec.ReadOnly, jobspec.Workspace),
		try("F34d", "rename the private place of the program", "rename /.sbxcron /x", "read_only landlock", barred),
		try("F34b", "rename the parent of the cwd", "rename {stage} {stage}x", "read_only landlock", barred).in(jobspec.ReadOnly, jobspec.Workspace).outside(),
	}
}
