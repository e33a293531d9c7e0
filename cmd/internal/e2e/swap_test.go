//go:build linux

package e2e

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/client"
	"github.com/sbxcron/sbxcron/jobspec"
	"golang.org/x/sys/unix"
)

// The words that the approved and the other bytes print.
const (
	wordA = "approved-bytes"
	wordB = "other-bytes"
)

// The classes of a swap, by where it fell in the road of one start.
const (
	beforeOpen = "before open"
	openToHash = "between open and hash"
	hashToExec = "between hash and exec"
	afterExec  = "after exec"
	running    = "all the time while it runs"
	ceaseless  = "all the time"
)

// task tells the test that it began, and waits a moment.
const task = "echo x >began\nsleep 0.03\necho " + wordA + "\nexit\n"

// size is that of all bytes, so that it gives nothing away and hashing takes its
// time.
const size = 1 << 20

func padded(text string) []byte {
	return append([]byte(text), bytes.Repeat([]byte{'#'}, size-len(text))...)
}

// swapper changes what lies at the path of a bound file.
type swapper struct {
	t         *testing.T
	h         *house
	job       string
	dir, path string
	halt      string
	a, b      []byte
	inPlace   bool   // by writing, not by a rename over it
	main      string // a script of its own that the job runs, "" where path is run
	counts    map[string]map[string]int
}

// ok is must for other goroutines than the test's own.
func (s *swapper) ok(err error) {
	if err != nil {
		s.t.Error(err)
	}
}

// put makes bytes lie at the path, by a rename over it or by a write into it.
func (s *swapper) put(text []byte, inPlace bool) {
	if inPlace {
		f, err := os.OpenFile(s.path, os.O_WRONLY, 0) // no O_TRUNC: the length stays
		if err == nil {
			_, err = f.WriteAt(text, 0)
			err = errors.Join(err, f.Close())
		}
		s.ok(err)
		return
	}
	next := s.path + ".new"
	s.ok(os.WriteFile(next, text, 0o755))
	s.ok(os.Chmod(next, 0o755))
	if os.Getuid() == 0 {
		s.ok(os.Chown(next, jobUID, jobUID))
	}
	s.ok(os.Rename(next, s.path))
}

// readsAgain opens itself over and over for half a second.
const readsAgain = `#!/usr/bin/python3 -S
import time
open("began", "w").close()
until, n = time.monotonic() + 0.3, 0
while time.monotonic() < until:
    text = open("tool").read() + open(__file__).read()
    n += 1
    if "other-" + "bytes" in text: open("other", "w").close()
print("approved-" + "bytes")
raise SystemExit
`

// sources takes in a bound file over and over.
const sources = "#!/bin/sh\necho x >began\nn=0\nwhile [ $n -lt 400 ]; do . ./tool; done\necho " + wordA + "\n"

// TestSwapRacesNeverRunOtherBytes swaps a program, scripts and a file that is
// sourced, by renames and by writes, at each place of the road of a start and all
// the time. Bytes that nobody approved leave a file when they run, and the first
// line of some is all that they need; none ever does, whatever becomes of the run.
func TestSwapRacesNeverRunOtherBytes(t *testing.T) {
	h := newHouse(t)
	shell, err := os.ReadFile("/bin/sh")
	must(t, err)
	script := padded("#!/bin/sh\n" + task)
	inShell := padded("#!/bin/sh\necho x >other\necho " + wordB + "\nexit\n")
	inFirstLine := padded("#!/usr/bin/awk BEGIN { print \"x\" >\"other\"; print \"" + wordB + "\"; exit }\n")
	again := padded(readsAgain)
	part := padded("n=$((n+1))\nreturn\n")
	var all []*swapper
	for _, s := range []*swapper{
		{job: "program-write", a: padded(string(shell)), b: inShell, inPlace: true}, {job: "program-rename", a: padded(string(shell)), b: inShell},
		{job: "script-write", a: script, b: inShell, inPlace: true}, {job: "script-rename", a: script, b: inShell},
		{job: "first-line-write", a: script, b: inFirstLine, inPlace: true}, {job: "first-line-rename", a: script, b: inFirstLine},
		{job: "again-write", a: again, b: inShell, inPlace: true}, {job: "again-rename", a: again, b: inShell},
		{job: "sourced-write", a: part, b: inShell, main: sources, inPlace: true}, {job: "sourced-rename", a: part, b: inShell, main: sources},
	} {
		s.h, s.halt, s.counts = h, filepath.Join(h.dir, "halt"), map[string]map[string]int{}
		s.dir = h.mkdir(s.job)
		s.path = filepath.Join(s.dir, "tool")
		s.t = t
		s.put(s.a, false)
		h.put(filepath.Join(s.dir, "task"), task, 0o644)
		if s.main == "" {
			h.add(s.job, s.dir, "workspace", "./tool", "./task")
		} else {
			h.put(filepath.Join(s.dir, "main"), s.main, 0o755)
			h.must("add", s.job, "--schedule", "0 0 1 1 *", "--yes", "--tier", "workspace", "--cwd", s.dir, "--file", "tool", "--", "./main")
		}
		all = append(all, s)
	}
	must(t, os.Mkdir(all[0].halt, 0o700))
	h.start(envHalt + "=" + all[0].halt)
	for _, s := range all {
		t.Run(s.job, func(t *testing.T) { s.t = t; s.show(bounded(6, 30)) })
	}
}

// show makes starts with a swap in each class in turn.
func (s *swapper) show(starts int) {
	s.t.Helper()
	c := s.h.service()
	classes := []string{beforeOpen, openToHash, hashToExec, afterExec, running, ceaseless}
	for i := range starts {
		if class := classes[i%len(classes)]; class == running || class == ceaseless {
			s.free(c, class)
		} else {
			s.aimed(c, class)
		}
	}
	for range 10 { // a swap that was to fall before the hash may have taken too long
		if len(s.counts[openToHash]) > 0 {
			break
		}
		s.aimed(c, openToHash)
	}
	s.t.Logf("how starts ended, by where the swap fell: %v", s.counts)
	for _, class := range classes {
		if len(s.counts[class]) == 0 {
			s.t.Errorf("no swap fell %s", class)
		}
	}
	if s.counts[beforeOpen]["succeeded"] != 0 || s.counts[afterExec]["refused"]+s.counts[running]["refused"] != 0 {
		s.t.Errorf("a swap had no effect, or one where there was nothing to refuse: %v", s.counts)
	}
	if s.inPlace && s.counts[hashToExec]["refused"] != 0 {
		s.t.Errorf("what was hashed did not run: %v", s.counts)
	}
	if s.there(filepath.Join(s.dir, "other")) {
		s.t.Errorf("bytes ran that nobody approved")
	}
}

// aimed makes one start with one swap at a place in its road.
func (s *swapper) aimed(c *client.Client, class string) {
	s.t.Helper()
	s.put(s.a, false)
	_ = os.Remove(filepath.Join(s.dir, "began")) // there is none the first time
	watch := s.watch()
	defer watch.Close()
	swapped := make(chan string, 1)
	if class == beforeOpen {
		s.put(s.b, s.inPlace)
		swapped <- beforeOpen
	} else {
		go func() { swapped <- s.swapAt(class, watch) }()
	}
	s.start(c, func() string { return <-swapped })
}

// free makes one start while the bytes change all the time, or from its first act
// on: most of the former do not get that far where the change is a rename.
func (s *swapper) free(c *client.Client, class string) {
	s.t.Helper()
	s.put(s.a, false)
	began := filepath.Join(s.dir, "began")
	_ = os.Remove(began) // there is none the first time
	var stop atomic.Bool
	done := make(chan string, 1)
	go func() {
		if class == running {
			s.exists(began)
		}
		for !stop.Load() {
			s.put(s.b, s.inPlace)
			s.put(s.a, s.inPlace)
		}
		done <- class
	}()
	s.start(c, func() string { stop.Store(true); return <-done })
}

// start triggers the job and judges what came of it.
func (s *swapper) start(c *client.Client, where func() string) {
	s.t.Helper()
	r, err := c.Start(s.t.Context(), jobspec.Name(s.job))
	if err == nil {
		r, err = c.Run(s.t.Context(), r.Run, true)
	}
	class := where()
	must(s.t, err)
	if s.counts[class] == nil {
		s.counts[class] = map[string]int{}
	}
	s.counts[class][r.Outcome]++
	s.judge(r, class, s.output(c, r))
}

func (s *swapper) judge(r api.Run, class, printed string) {
	s.t.Helper()
	told := len(r.Reasons) > 0 && strings.HasPrefix(string(r.Reasons[0].Code), "drift_")
	// A name that moves while bwrap mounts over it is an error of mount(2) there.
	unbuilt := class == ceaseless && len(r.Reasons) > 0 && r.Reasons[0].Code == jobspec.CodeSbxSetupFailed
	switch {
	case r.Outcome == "succeeded" && printed == wordA+"\n":
	case r.Outcome == "refused" && (told || unbuilt) && printed == "":
	default:
		s.t.Errorf("swap %s: %s for %+v, printed %q", class, r.Outcome, r.Reasons, printed)
	}
}

func (s *swapper) output(c *client.Client, r api.Run) string {
	s.t.Helper()
	if len(r.Outputs) == 0 || r.Outputs[0].Bytes == 0 {
		return ""
	}
	out, err := c.Output(s.t.Context(), r.Run, "out", 0)
	must(s.t, err)
	defer out.Close()
	b, err := io.ReadAll(out)
	must(s.t, err)
	return string(b)
}

// watch hears the file being opened for its bytes.
func (s *swapper) watch() *os.File {
	s.t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	must(s.t, err)
	_, err = unix.InotifyAddWatch(fd, s.path, unix.IN_OPEN)
	must(s.t, err)
	return os.NewFile(uintptr(fd), "inotify")
}

// swapAt waits for its place and swaps there. It returns the class in which the
// swap began and ended, or that it lay across two.
func (s *swapper) swapAt(class string, watch *os.File) string {
	hold := map[string]string{openToHash: "before-probe", hashToExec: "after-prepare"}[class]
	if hold != "" {
		s.ok(os.WriteFile(filepath.Join(s.halt, hold), nil, 0o600))
	}
	switch class {
	case openToHash:
		s.opened(watch)
	case hashToExec:
		s.exists(filepath.Join(s.halt, hold+".reached"))
	case afterExec:
		s.exists(filepath.Join(s.dir, "began"))
	}
	hashed := s.there(filepath.Join(s.halt, "before-probe.reached"))
	s.put(s.b, s.inPlace)
	fell := class
	if class == openToHash && (hashed || s.there(filepath.Join(s.halt, "before-probe.reached"))) {
		fell = "across the hash"
	}
	if hold != "" {
		s.ok(os.RemoveAll(filepath.Join(s.halt, hold+".reached")))
		s.ok(os.Remove(filepath.Join(s.halt, hold)))
	}
	return fell
}

func (s *swapper) opened(watch *os.File) {
	buf := make([]byte, 4096)
	s.ok(watch.SetReadDeadline(time.Now().Add(20 * time.Second)))
	if _, err := watch.Read(buf); err != nil {
		s.t.Errorf("the file was not opened: %v", err)
	}
}

func (s *swapper) there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (s *swapper) exists(path string) {
	for range 20000 {
		if s.there(path) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	s.t.Errorf("%s did not come", path)
}
