package escape

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// StageOptions say where and for whom a stage is made.
type StageOptions struct {
	Program  string // of the attempts; a copy goes onto the stage
	UID, GID int    // of the job
	// Conf, State and Run are the service's folders, Home is the caller's. They are
	// only named to the attempts. Where Home is empty, the stage has look-alikes.
	Conf, State, Run, Home string
}

// Stage is what lies outside of the sandbox: files, sockets, pipes, processes,
// keys. Each of them would show that an attempt came through.
type Stage struct {
	Dir     string // holds all; everybody may enter it
	Shown   string // for fs.read of the job
	Work    string // for the job's cwd
	Program string // the copy
	Jobs    string // for whoever starts the jobs; nothing of a sandbox

	outside string
	targets map[string]string
	before  map[string]string // what the files were
	ears    ears
	kernel  kernelObjects
	leaked  int
}

// LeakedFD is the lowest number that the leaked descriptor may have: low ones get
// files of the sandbox.
const LeakedFD = 200

// variable is a name that only the environment of the caller has.
const variable = "SBXCRON_ESCAPE_CANARY"

// NewStage makes a stage. Below /tmp a job has a private folder, and what it is
// granted there would hold for the stage too, so it lies in /var/tmp.
func NewStage(o StageOptions) (*Stage, error) {
	dir, err := os.MkdirTemp("/var/tmp", "sbxcron-escape-")
	if err != nil {
		return nil, fmt.Errorf("make a stage: %w", err)
	}
	s := &Stage{Dir: dir, Shown: dir + "/shown", Work: dir + "/work", Program: dir + "/bin/sbxcron-escape", Jobs: dir + "/jobs", outside: dir + "/outside", leaked: -1}
	if err := s.build(o); err != nil {
		return nil, errors.Join(fmt.Errorf("make a stage: %w", err), s.Close())
	}
	return s, nil
}

func (s *Stage) build(o StageOptions) error {
	s.targets = map[string]string{"stage": s.Dir, "shown": s.Shown, "outside": s.outside, "work": s.Work, "program": s.Program, "conf": o.Conf,
		"state": o.State, "run": o.Run, "home": o.Home, "pid": strconv.Itoa(os.Getpid()), "variable": variable, "mark": fmt.Sprintf("300.%07d", os.Getpid())}
	if err := errors.Join(os.Chmod(s.Dir, 0o755), os.Mkdir(s.Jobs, 0o700), os.Setenv(variable, "1")); err != nil {
		return err
	}
	if err := s.files(o); err != nil {
		return err
	}
	if err := s.ears.open(s); err != nil {
		return err
	}
	if err := s.kernel.make(s.targets, o.UID, o.GID); err != nil {
		return err
	}
	// Without close-on-exec, as a leak would be.
	low, err := unix.Open(s.outside, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(low)
	fd, err := unix.FcntlInt(uintptr(low), unix.F_DUPFD, LeakedFD)
	if err != nil {
		return err
	}
	s.leaked, s.targets["leaked"] = fd, strconv.Itoa(fd)
	s.before, err = s.look()
	return err
}

// victim finds files that a single attempt destroys: {shown}/x-NAME.
var victim = regexp.MustCompile(`\{shown\}/(x-[a-z]+)`)

func (s *Stage) files(o StageOptions) error {
	m := maker{uid: o.UID, gid: o.GID}
	for _, dir := range []string{s.Shown, s.outside} {
		m.dir(dir, 0o777)
		m.dir(dir+"/d", 0o777)
		m.file(dir+"/f", "unchanged", 0o666)
		m.file(dir+"/secret", "a secret", 0o644)
		m.fifo(dir + "/fifo")
	}
	for _, a := range Attempts() {
		for _, found := range victim.FindAllStringSubmatch(a.Do, -1) {
			m.file(s.Shown+"/"+found[1], "unchanged", 0o666)
		}
	}
	if o.Home == "" {
		s.lookalikes(&m)
	}
	m.dir(s.Work, 0o755)
	for _, d := range []string{"/.git", "/.git/hooks", "/.git/info", "/sub"} {
		m.dir(s.Work+d, 0o755)
	}
	m.file(s.Work+"/.git/HEAD", "ref: refs/heads/main\n", 0o644)
	m.file(s.Work+"/.git/config", "[core]\n", 0o644)
	m.file(s.Work+"/.envrc", "export A=1\n", 0o644)
	m.file(s.Work+"/own", "own\n", 0o644)
	m.link(s.outside+"/secret", s.Work+"/link")
	m.copy(o.Program, s.Program, 0o755)
	if os.Getuid() == 0 {
		s.targets["setuid"], s.targets["filecap"] = s.Shown+"/setuid", s.Shown+"/filecap"
		m.copy(o.Program, s.targets["setuid"], 0o755|os.ModeSetuid|os.ModeSetgid)
		m.copy(o.Program, s.targets["filecap"], 0o755)
		m.capability(s.targets["filecap"])
	}
	shm, err := os.CreateTemp("/dev/shm", "sbxcron-escape-")
	if err != nil {
		return errors.Join(m.err, err)
	}
	s.targets["shmfile"] = filepath.Base(shm.Name())
	return errors.Join(m.err, shm.Chmod(0o666), shm.Close())
}

// lookalikes stand in for the folders of an installation and of a person. Their
// files belong to the job's account: only the sandbox keeps it from them.
func (s *Stage) lookalikes(m *maker) {
	for _, name := range []string{"conf", "state", "run", "home"} {
		s.targets[name] = s.outside + "/" + name
		m.dir(s.targets[name], 0o777)
	}
	for _, dir := range []string{"/state/ledger", "/state/output", "/home/.config", "/home/.config/systemd", "/home/.config/systemd/user"} {
		m.dir(s.outside+dir, 0o777)
	}
	for _, file := range []string{"/conf/pin", "/conf/audit_key", "/conf/allowed_signers", "/conf/policy.toml", "/state/chain.db", "/state/lock"} {
		m.file(s.outside+file, "ours", 0o666)
	}
}

// Targets are what the names in an attempt stand for.
func (s *Stage) Targets() map[string]string { return s.targets }

// look notes type, mode, owner, size, times and content of all that lies on the
// stage and is not the job's to change.
func (s *Stage) look() (map[string]string, error) {
	seen := map[string]string{}
	err := filepath.WalkDir(s.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(path, s.Dir)
		if rel == "/jobs" {
			return filepath.SkipDir
		}
		if strings.HasPrefix(rel, "/work") && !strings.HasPrefix(rel, "/work/.") {
			return nil
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		text := ""
		if st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size < 4096 {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(b)
		}
		seen[rel] = fmt.Sprintf("mode %o owner %d:%d size %d links %d time %d.%09d %q", st.Mode, st.Uid, st.Gid, st.Size, st.Nlink, st.Mtim.Sec, st.Mtim.Nsec, text)
		return nil
	})
	return seen, err
}

// Changes lists what is not as it was before the attempts.
func (s *Stage) Changes() ([]string, error) {
	now, err := s.look()
	if err != nil {
		return nil, err
	}
	var list []string
	for path, was := range s.before {
		if now[path] != was {
			list = append(list, fmt.Sprintf("%s was %s, is %s", path, was, now[path]))
		}
	}
	for path := range now {
		if _, there := s.before[path]; !there {
			list = append(list, path+" is new")
		}
	}
	if left, err := s.setIDs(); err != nil || len(left) > 0 {
		return append(list, left...), err
	}
	return append(list, s.kernel.changes()...), nil
}

// setIDs lists files with set-id bits or devices that were left in the workspace.
func (s *Stage) setIDs() ([]string, error) {
	var list []string
	err := filepath.WalkDir(s.Work, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid|os.ModeDevice) != 0 {
			list = append(list, fmt.Sprintf("%s was left with mode %s", path, info.Mode()))
		}
		return err
	})
	return list, err
}

// Heard lists the attempts that reached something outside.
func (s *Stage) Heard() (map[string]bool, error) {
	heard := s.ears.heard()
	left, err := runs(s.targets["mark"])
	if left {
		heard["S16"] = true
	}
	return heard, err
}

// Close takes the stage away.
func (s *Stage) Close() error {
	s.ears.close()
	s.kernel.remove()
	if s.leaked >= 0 {
		unix.Close(s.leaked)
		s.leaked = -1
	}
	if name := s.targets["shmfile"]; name != "" {
		_ = os.Remove("/dev/shm/" + name) // an empty file
	}
	return errors.Join(os.Unsetenv(variable), os.RemoveAll(s.Dir))
}
