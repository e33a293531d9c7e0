package send

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// senders are the processes that the sender has, by pid.
func (s *Sender) pids(t *testing.T) []int {
	t.Helper()
	var all []int
	for _, stat := range must(filepath.Glob("/proc/[0-9]*/cmdline")) {
		text, err := os.ReadFile(stat)
		if err == nil && strings.HasPrefix(string(text), childName+"\x00") && parentOf(filepath.Dir(stat)) == os.Getpid() {
			all = append(all, must(strconv.Atoi(filepath.Base(filepath.Dir(stat)))))
		}
	}
	return all
}

func parentOf(proc string) int {
	text, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\nPPid:\t")
	first, _, _ := strings.Cut(rest, "\n")
	pid, _ := strconv.Atoi(first)
	return pid
}

func TestTheSenderIsBare(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	s := testSender(t)
	if res := s.Do(t.Context(), hookTask(jobspec.ChannelWebhook, server.URL)); res.Class != Delivered {
		t.Fatalf("%+v", res)
	}
	pids := s.pids(t)
	if len(pids) != 1 {
		t.Fatalf("processes %v", pids)
	}
	if text := string(must(os.ReadFile("/proc/" + strconv.Itoa(pids[0]) + "/cmdline"))); text != childName+"\x00"+modeConfined+"\x00" {
		t.Errorf("it is %q", text) // which only confine leads to
	}
	tasks := must(filepath.Glob("/proc/" + strconv.Itoa(pids[0]) + "/task/*/status"))
	for _, path := range append(tasks, "/proc/"+strconv.Itoa(pids[0])+"/status") {
		text := string(must(os.ReadFile(path)))
		for _, want := range []string{"NoNewPrivs:\t1\n", "CapEff:\t0000000000000000\n", "CapPrm:\t0000000000000000\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", path, want, text)
			}
		}
		if os.Getuid() == 0 && (!strings.Contains(text, "Uid:\t65519\t65519\t65519\t65519\n") || !strings.Contains(text, "Groups:\t \n") || !strings.Contains(text, "CapBnd:\t0000000000000000\n")) {
			t.Errorf("%s:\n%s", path, text)
		}
	}
	if os.Getuid() == 0 {
		limits := string(must(os.ReadFile("/proc/" + strconv.Itoa(pids[0]) + "/limits")))
		for _, want := range []string{"Max core file size        0  ", "Max file size             0  ", "Max open files            256  "} {
			if !strings.Contains(limits, want) {
				t.Errorf("limits lack %q:\n%s", want, limits)
			}
		}
	}
}

// What a server sends could take the sender over. Then it has the rights of the
// account, and of an ordinary user's service that is the owner's own.
func TestAConfinedProcessReadsNoSecretAndWritesNothing(t *testing.T) {
	dir := must(os.MkdirTemp("", "confined-"))
	t.Cleanup(func() { os.RemoveAll(dir) })
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := runConfined(t, secret)
	if strings.Contains(out, "no landlock") {
		t.Skip("the kernel has no Landlock")
	}
	for _, want := range []string{"certificates read", "resolver read", "secret permission denied", "write permission denied"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

func TestASenderThatDiesIsReplaced(t *testing.T) {
	hold := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			<-hold
		}
	}))
	defer server.Close()
	defer close(hold)
	s := testSender(t)
	ended := make(chan Result, 1)
	go func() { ended <- s.Do(context.Background(), hookTask(jobspec.ChannelWebhook, server.URL+"/hang")) }()
	var pids []int
	for end := time.Now().Add(10 * time.Second); len(pids) == 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		pids = s.pids(t)
	}
	if len(pids) != 1 {
		t.Fatalf("processes %v", pids)
	}
	// A server that hangs holds up nobody else.
	if res := s.Do(t.Context(), hookTask(jobspec.ChannelWebhook, server.URL)); res.Class != Delivered {
		t.Errorf("beside a server that hangs: %+v", res)
	}
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if res := <-ended; res.Class != Delayed || !strings.Contains(res.Text, "ended") {
		t.Errorf("%+v", res)
	}
	if res := s.Do(t.Context(), hookTask(jobspec.ChannelWebhook, server.URL)); res.Class != Delivered {
		t.Errorf("after its death: %+v", res)
	}
	if again := s.pids(t); len(again) != 1 || again[0] == pids[0] {
		t.Errorf("processes %v, before %v", again, pids)
	}
	s.Close()
	if left := s.pids(t); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestASenderIsNeverRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	s := &Sender{}
	if res := s.Do(t.Context(), hookTask(jobspec.ChannelWebhook, "http://127.0.0.1:1/")); res.Class != Delayed || !strings.Contains(res.Text, "never root") {
		t.Errorf("%+v", res)
	}
}

func TestASendmailProgramRunsAsTheSender(t *testing.T) {
	path := program(t, "cat > got; id -u; exit 0\n")
	task := mail("")
	task.Channel.Kind, task.Channel.Command = jobspec.ChannelSendmail, []string{path}
	want := strconv.Itoa(os.Getuid())
	if os.Getuid() == 0 {
		want = "65519"
	}
	if res := testSender(t).Do(t.Context(), task); res.Class != Delivered || res.Text != `status 0 `+want {
		t.Errorf("%+v", res)
	}
}

func TestBytesThatAreNoResultAreNotBelieved(t *testing.T) {
	good := encodeResult(7, Result{Delivered, "ok"})
	for name, change := range map[string]func(b []byte){
		"class": func(b []byte) { b[8] = 9 }, "no class": func(b []byte) { b[8] = 0 }, "length": func(b []byte) { b[9] = 250 },
		"behind": func(b []byte) { b[255] = 'x' }, "control": func(b []byte) { b[10] = 0x1b },
	} {
		b := append([]byte(nil), good...)
		change(b)
		if _, _, err := readResult(strings.NewReader(string(b))); err == nil {
			t.Errorf("%s: read", name)
		}
	}
	if id, res, err := readResult(strings.NewReader(string(good))); err != nil || id != 7 || res != (Result{Delivered, "ok"}) {
		t.Errorf("%d %+v %v", id, res, err)
	}
}
