package shim

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

var update = flag.Bool("update", false, "write the golden file")

func parse(b []byte) []Attempt {
	var all []Attempt
	var p Parser
	p.Feed(b, func(a Attempt) { all = append(all, a) })
	return all
}

// bench is a folder with the script under a name and its pipe.
type bench struct {
	dir  string
	pipe *os.File
}

func newBench(t *testing.T) bench {
	t.Helper()
	b := bench{dir: t.TempDir()}
	path := filepath.Join(b.dir, "events")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("needs named pipes: %v", err)
	}
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	b.pipe = os.NewFile(uintptr(fd), path)
	t.Cleanup(func() { b.pipe.Close() })
	if err := os.WriteFile(filepath.Join(b.dir, "script"), Script(path, ""), 0o755); err != nil {
		t.Fatal(err)
	}
	return b
}

// call runs the script by a name and returns what it told and its status.
func (b bench) call(t *testing.T, shell, name string, args ...string) (told []byte, status int, out, errs string) {
	t.Helper()
	link := filepath.Join(b.dir, name)
	if err := os.Symlink("script", link); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	cmd := exec.Command(link, args...)
	if shell != "" {
		cmd = exec.Command(shell, append([]string{link}, args...)...)
	}
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	buf := make([]byte, 64<<10)
	n, err := syscall.Read(int(b.pipe.Fd()), buf)
	if err != nil && !errors.Is(err, syscall.EAGAIN) {
		t.Fatal(err)
	}
	return buf[:max(n, 0)], cmd.ProcessState.ExitCode(), o.String(), e.String()
}

func TestEveryNameTellsItsCodeAndEndsWithItsStatus(t *testing.T) {
	b := newBench(t)
	for _, tool := range Tools() {
		for _, name := range tool.Names {
			if strings.HasSuffix(name, "-") {
				name += "gtk-2"
			}
			told, status, out, errs := b.call(t, "", name, "-n", "two words", "")
			want := []Attempt{{Code: tool.Code, Argv: []string{name, "-n", "two words", ""}}}
			if got := parse(told); !reflect.DeepEqual(got, want) || status != tool.Exit || status == 0 || out != "" || !strings.Contains(errs, string(tool.Code)) {
				t.Errorf("%s: told %q, status %d, out %q, said %q", name, got, status, out, errs)
			}
		}
	}
}

func TestWhateverTheArgumentsTheyFitIntoOneWrite(t *testing.T) {
	b := newBench(t)
	long := make([]string, 40)
	for i := range long {
		long[i] = strings.Repeat("\u00e9x\n", 400)
	}
	for _, shell := range []string{"", "dash", "bash"} {
		if shell != "" {
			if _, err := exec.LookPath(shell); err != nil {
				t.Logf("not tried with %s, which is not here", shell)
				continue
			}
		}
		told, _, _, _ := b.call(t, shell, "sudo", long...)
		got := parse(told)
		if len(told) > 4096 || len(got) != 1 || len(got[0].Argv) != MaxArgs+1 || len(got[0].Argv[15]) != MaxArgBytes || got[0].Argv[16] != moreArgs {
			t.Errorf("shell %q: %d bytes, %d attempts", shell, len(told), len(got))
		}
	}
}

// The script is part of every plan and is to be read by people.
func TestTheScriptIsTheOneThatWasLookedAt(t *testing.T) {
	path := filepath.Join("..", "..", "testdata", "golden", "runner", "shim.txt")
	got := Script("/.sbxcron/events", "")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at it and run with -update. Got:\n%s", path, got)
	}
}

func TestAnUnknownNameTellsNothingAndStillRefuses(t *testing.T) {
	b := newBench(t)
	told, status, _, _ := b.call(t, "", "cp", "a", "b")
	if len(told) != 0 || status != 126 {
		t.Errorf("told %q, status %d", told, status)
	}
}

func TestTheScriptOverAProgramTellsOfItUnderAnyName(t *testing.T) {
	b := newBench(t)
	if err := os.WriteFile(filepath.Join(b.dir, "script"), Script(b.pipe.Name(), "systemctl"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]jobspec.Code{"reboot": jobspec.CodeEscScheduler, "sudo": jobspec.CodeEscSudo} {
		told, status, _, _ := b.call(t, "", name, "now")
		if got := parse(told); !reflect.DeepEqual(got, []Attempt{{code, []string{name, "now"}}}) || status != 1 {
			t.Errorf("%s: told %q, status %d", name, got, status)
		}
	}
}

func TestBytesWithoutAnEndDoNotHideTheNextAttempt(t *testing.T) {
	b := newBench(t)
	told, _, _, _ := b.call(t, "", "sudo", "id")
	for _, before := range []string{"x", strings.Repeat("x", 5000), markBegin, markBegin + "\x00", markBegin + "\x00esc_su\x00s"} {
		got := parse(append([]byte(before), told...))
		if len(got) == 0 || !reflect.DeepEqual(got[len(got)-1], Attempt{jobspec.CodeEscSudo, []string{"sudo", "id"}}) {
			t.Errorf("after %.20q: %q", before, got)
		}
	}
}

func TestAttemptsAreReadInPiecesOfAnySize(t *testing.T) {
	raw := "garbage\x00" + markBegin + "\x00esc_sudo\x00sudo\x00-n\x00" + markEnd + "\x00" + markBegin + "\x00ask_editor\x00vi\x00" + markEnd + "\x00"
	want := []Attempt{{jobspec.CodeEscSudo, []string{"sudo", "-n"}}, {jobspec.CodeAskEditor, []string{"vi"}}}
	for size := 1; size < len(raw); size++ {
		var got []Attempt
		var p Parser
		for at := 0; at < len(raw); at += size {
			p.Feed([]byte(raw[at:min(at+size, len(raw))]), func(a Attempt) { got = append(got, a) })
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("pieces of %d: %q", size, got)
		}
	}
}

func TestHalfAnAttemptDoesNotSwallowTheNext(t *testing.T) {
	got := parse([]byte(markBegin + "\x00esc_su\x00su\x00" + markBegin + "\x00esc_sudo\x00sudo\x00" + markEnd + "\x00"))
	want := []Attempt{{jobspec.CodeEscSu, []string{"su"}}, {jobspec.CodeEscSudo, []string{"sudo"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestCodesOutsideTheTableAreNotTold(t *testing.T) {
	for _, raw := range []string{
		markBegin + "\x00net_denied_domain\x00x\x00" + markEnd + "\x00",
		markBegin + "\x00\x00x\x00" + markEnd + "\x00",
		markBegin + "\x00esc_sudo\x00" + markEnd + "\x00",
		"esc_sudo\x00sudo\x00" + markEnd + "\x00",
	} {
		if got := parse([]byte(raw)); len(got) != 0 {
			t.Errorf("%q: %q", raw, got)
		}
	}
}

func TestTheParserHoldsLittleWhateverComes(t *testing.T) {
	var p Parser
	for _, raw := range []string{markBegin + "\x00", strings.Repeat("a", 1<<20), strings.Repeat("b\x00", 1<<18)} {
		p.Feed([]byte(raw), func(Attempt) { t.Error("an attempt without an end") })
	}
	if len(p.field) > MaxArgBytes || len(p.fields) > MaxArgs+2 {
		t.Errorf("holds a field of %d bytes and %d fields", len(p.field), len(p.fields))
	}
}

func TestPlacesAreRealPathsOfTheTableOnly(t *testing.T) {
	root := t.TempDir()
	put := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(root+path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, path string) {
		t.Helper()
		if err := os.Symlink(to, root+path); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/usr/bin/sudo", "/usr/bin/newgrp", "/usr/bin/cp", "/usr/bin/busybox", "/usr/bin/pinentry-curses", "/usr/bin/vim.basic"} {
		put(path)
	}
	link("newgrp", "/usr/bin/sg")
	link("busybox", "/usr/bin/su")
	link("pinentry-curses", "/usr/bin/pinentry")
	link("vim.basic", "/usr/bin/editor")
	link("nowhere", "/usr/bin/doas")
	p := &Places{root: root}
	want := []string{root + "/usr/bin/newgrp", root + "/usr/bin/pinentry-curses", root + "/usr/bin/sudo"}
	if got := p.Now(); !reflect.DeepEqual(got, want) {
		t.Errorf("places are %q", got)
	}
	if err := os.Remove(root + "/usr/bin/sudo"); err != nil {
		t.Fatal(err)
	}
	put("/usr/sbin/pkexec")
	want = []string{root + "/usr/bin/newgrp", root + "/usr/bin/pinentry-curses", root + "/usr/sbin/pkexec"}
	if got := p.Now(); !reflect.DeepEqual(got, want) {
		t.Errorf("after a change places are %q", got)
	}
}
