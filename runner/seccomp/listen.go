package seccomp

// Flags of open(2) that the listener's rules look at. O_DIRECTORY is one of the
// few that differ between architectures.
const (
	openAccess         = 3 // O_ACCMODE
	openWriteOnly      = 1
	openNew            = 0x40 | 0x80 // O_CREAT and O_EXCL: only a new file will do
	openPath           = 0x200000
	openDirectoryAMD64 = 0x10000
	openDirectoryARM64 = 0x4000
)

// Listener makes the second program of a run whose files can lose their names:
// calls that read or execute a file by its name wait for the answer of whoever
// holds the listener. Everything else passes; what the first program refuses
// stays refused, since the kernel takes the stricter answer of the two
// (seccomp(2), SECCOMP_RET_USER_NOTIF).
func Listener(a Arch) (Program, error) {
	p, err := a.head()
	if err != nil {
		return nil, err
	}
	return a.finish(p, listenRules(a))
}

// listenRules are the calls that bring bytes of a named file into a process.
// Opens that cannot read, that want a directory or only a place, or that make a
// new file need no answer. openat2 and io_uring, which could open too, do not
// exist for a job.
func listenRules(a Arch) []rule {
	directory := uint32(openDirectoryAMD64)
	if a == ARM64 {
		directory = openDirectoryARM64
	}
	reads := func(flags uint32) []test {
		return []test{
			{flags, openAccess, notEqual, openWriteOnly},
			{flags, directory | openPath, equal, 0},
			{flags, openNew, notEqual, openNew},
		}
	}
	return []rule{
		{"open", Notify, reads(1)},
		{"openat", Notify, reads(2)},
		{"execve", Notify, nil},
		{"execveat", Notify, nil},
	}
}
