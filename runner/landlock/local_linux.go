package landlock

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/channel"
	"github.com/sbxcron/sbxcron/runner/internal/ends"
)

// maxLocal bounds the files that a stub is given.
const maxLocal = 512

// local is a plan at places of the machine itself, with the files that it needs.
type local struct {
	runner.Local
	b     *runner.Blueprint
	at    place
	files []*os.File // from runner.FirstLocalFD on
	own   []*os.File // of those, what is to be closed
	execs runner.Mount
}

// localize finds for each part of a plan what stands for it here. What nothing
// can stand for is refused by name.
func localize(b *runner.Blueprint, at place, events *channel.Channel) (*local, error) {
	l := &local{b: b, at: at}
	l.Canary, l.Beside, l.Peer = at.canary(), at.beside(), int64(os.Getpid())
	l.Env = l.environment()
	for _, step := range []func() error{l.takeExec, l.takeCwd, l.takeArgv, func() error { return l.takeAccess(events) }, l.countTasks} {
		if err := step(); err != nil {
			l.close()
			return nil, err
		}
	}
	l.Files = len(l.files)
	if l.Files > maxLocal {
		l.close()
		return nil, refusal(jobspec.CodeSbxResource, "", "the run needs %d open files, at most %d", l.Files, maxLocal)
	}
	return l, nil
}

func (l *local) close() {
	for _, f := range l.own {
		f.Close()
	}
}

// add gives a file to the stub and returns its number there.
func (l *local) add(f *os.File) int64 {
	l.files = append(l.files, f)
	return int64(runner.FirstLocalFD + len(l.files) - 1)
}

// open adds a file or directory of the place.
func (l *local) open(path string) (int64, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	l.own = append(l.own, f)
	return l.add(f), nil
}

// takeExec finds the very file that was hashed: it is executed by its descriptor.
func (l *local) takeExec() error {
	for _, m := range l.b.Mounts {
		if m.Dst == l.b.Exec.Path && !m.What.IsZero() && (m.Kind == runner.Copy || m.Kind == runner.PinnedRO) {
			again, err := ends.Reopen(l.b.Pins.File(m.Pin)) // the stub's own offset
			if err != nil {
				return err
			}
			l.own, l.execs = append(l.own, again), m
			l.add(again)
			return nil
		}
	}
	return refusal(jobspec.CodeInternal, l.b.Exec.Path, "the plan holds no bytes of %s", l.b.Exec.Path)
}

func (l *local) takeCwd() error {
	if l.b.Cwd.Pin >= 0 {
		l.Cwd = l.add(l.b.Pins.File(l.b.Cwd.Pin))
		return nil
	}
	var err error
	l.Cwd, err = l.open(l.at.work())
	return err
}

// environment moves what names a place of a sandbox to the place of the run.
func (l *local) environment() []string {
	moved := map[string]string{"HOME": l.at.home(), "TMPDIR": l.at.tmp(), "STATE_DIRECTORY": l.stateDir()}
	var env []string
	for _, v := range l.b.Env {
		name, value, _ := strings.Cut(v, "=")
		if to, ok := moved[name]; ok {
			value = to
		}
		if rest, ok := strings.CutPrefix(value, runner.ShimDir); ok {
			value = l.at.bin() + rest
		}
		env = append(env, name+"="+value)
	}
	return env
}

func (l *local) stateDir() string {
	for _, m := range l.b.Mounts {
		if m.Dst == runner.StateDir {
			return m.Src
		}
	}
	return runner.StateDir
}

// takeArgv names copies of the approved bytes where the command names files whose
// bytes others can change: the interpreter opens the copy, in a folder that the
// job cannot write. So $0 of a script is the copy's path.
func (l *local) takeArgv() error {
	l.Argv = slices.Clone(l.b.Argv)
	for _, m := range l.b.Mounts {
		if m.Kind != runner.Copy || m.Dst == l.b.Exec.Path {
			continue
		}
		if err := l.copyOf(m); err != nil {
			return err
		}
	}
	for i, arg := range l.Argv {
		if arg == runner.ScriptPath {
			l.Argv[i] = l.at.script()
		}
	}
	return nil
}

// copyOf puts a copy in place of the words that mean a file. A file that no word
// means would be opened by its name, which means other bytes as soon as somebody
// changes it: only a backend with mounts holds that.
func (l *local) copyOf(m runner.Mount) error {
	copied := ""
	for i, arg := range l.Argv {
		if i == 0 || !l.means(arg, m.Dst) {
			continue
		}
		if copied == "" {
			var err error
			if copied, err = l.copyFile(m); err != nil {
				return err
			}
		}
		l.Argv[i] = copied
	}
	if copied == "" {
		return lacks("mounts", m.Dst, "the approved bytes of %q cannot be shown at its place", m.Dst)
	}
	return nil
}

// means reports whether a word of the command is a path to a file, as it is or
// through a link that was followed when it was bound.
func (l *local) means(word, real string) bool {
	path := word
	if !strings.HasPrefix(path, "/") {
		path = l.b.Cwd.Path + "/" + path
	}
	path = runner.PlainPath(path)
	if path == real {
		return true
	}
	return slices.ContainsFunc(l.b.Names, func(n runner.Name) bool { return n.Path == real && slices.Contains(n.Aliases, path) })
}

func (l *local) copyFile(m runner.Mount) (string, error) {
	from, err := ends.Reopen(l.b.Pins.File(m.Pin))
	if err != nil {
		return "", err
	}
	defer from.Close()
	text := make([]byte, m.Size)
	if _, err := from.ReadAt(text, 0); err != nil && m.Size > 0 {
		return "", fmt.Errorf("read the approved bytes of %s: %w", m.Dst, err)
	}
	if jobspec.DigestOf(text) != m.What {
		return "", refusal(jobspec.CodeDriftScript, m.Dst, "%q has other bytes than the approved ones", m.Dst)
	}
	to := fmt.Sprintf("%s/%d-%s", l.at.copies(), len(l.files), m.Dst[strings.LastIndexByte(m.Dst, '/')+1:])
	return to, write(to, text, 0o500)
}

// countTasks counts what the kernel counts against RLIMIT_NPROC: the tasks of the
// account, on the whole machine.
func (l *local) countTasks() error {
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return fmt.Errorf("count the account's tasks: %w", err)
	}
	for _, p := range procs {
		var st unix.Stat_t
		if p.Name()[0] < '0' || p.Name()[0] > '9' || unix.Stat("/proc/"+p.Name(), &st) != nil {
			continue
		}
		if int(st.Uid) != os.Geteuid() && !ownsHidden(p.Name()) {
			continue
		}
		if tasks, err := os.ReadDir("/proc/" + p.Name() + "/task"); err == nil {
			l.Tasks += int64(len(tasks))
		}
	}
	return nil
}

// ownsHidden looks at a process whose files procfs gives to root, because it may
// not be traced.
func ownsHidden(pid string) bool {
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return false
	}
	_, rest, ok := strings.Cut(string(text), "\nUid:\t")
	real, _, _ := strings.Cut(rest, "\t")
	return ok && real == fmt.Sprint(os.Getuid())
}

func refusal(code jobspec.Code, target, format string, args ...any) *runner.Refusal {
	return &runner.Refusal{Reason: code, Target: target, Detail: fmt.Sprintf(format, args...)}
}

// lacks refuses what needs a capability that this backend does not have.
func lacks(capability, what, format string, args ...any) *runner.Refusal {
	return refusal(jobspec.CodeSbxFeatureMissing, capability, "%s: %s; backend %s lacks %q", what, fmt.Sprintf(format, args...), Name, capability)
}

var errNoPlan = errors.New("the plan is empty")
