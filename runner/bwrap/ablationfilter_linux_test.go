package bwrap

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/escape"
	"github.com/sbxcron/sbxcron/runner/internal/ends"
	"github.com/sbxcron/sbxcron/runner/stub"
	"golang.org/x/sys/unix"
)

// filter says what to take away. It stands behind a copy of this program, which
// is started in bwrap's place with all that bwrap would be handed, edits it and
// becomes bwrap.
type filter struct {
	Layers []escape.Layer
	Rows   []int // of the stub's table that become steps which do nothing
}

const filterMark = "\nfilter of a test: "

// program is a copy of this program with the filter behind it.
func (f filter) program() (*program, error) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("filter", unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("filter", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, err
	}
	name := os.NewFile(uintptr(fd), "filter")
	defer name.Close()
	if _, err := name.Write(append(append(self, filterMark...), text...)); err != nil {
		return nil, err
	}
	again, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", fd)) // what is open for writing is not executed
	if err != nil {
		return nil, err
	}
	return &program{file: again, digest: jobspec.DigestOf(text)}, nil
}

// filterMain is the life of this program in bwrap's place. It returns where it
// was started as what it is.
func filterMain() {
	if os.Args[0] != "bwrap" {
		return
	}
	runtime.LockOSThread()
	err := becomeBwrap()
	fmt.Fprintln(os.Stderr, "filter:", err)
	os.Exit(1)
}

func becomeBwrap() error {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	at := bytes.LastIndex(self, []byte(filterMark))
	if at < 0 {
		return errors.New("no filter behind the program")
	}
	var f filter
	if err := json.Unmarshal(self[at+len(filterMark):], &f); err != nil {
		return err
	}
	if len(os.Args) > 2 && os.Args[1] == "--args" {
		if err := f.apply(os.Args[2]); err != nil {
			return err
		}
	}
	return syscall.Exec(Program, os.Args, nil)
}

func (f filter) apply(argsFD string) error {
	fd, err := strconv.Atoi(argsFD)
	if err != nil {
		return err
	}
	if err := replace(fd, func(b []byte) []byte {
		list := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
		for _, l := range f.Layers {
			list = strip(l, list)
		}
		return []byte(strings.Join(list, "\x00") + "\x00")
	}); err != nil {
		return err
	}
	return replace(stub.TableFD, func(b []byte) []byte {
		for _, row := range f.Rows {
			const rowSize = 72 // kind and number come first
			binary.LittleEndian.PutUint64(b[row*rowSize:], uint64(stub.CallAny))
			binary.LittleEndian.PutUint64(b[row*rowSize+8:], unix.SYS_GETPID)
		}
		return b
	})
}

// replace puts a changed copy of a memory file at its number.
func replace(fd int, change func([]byte) []byte) error {
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return err
	}
	file, err := ends.Sealed("changed", change(b))
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.Dup3(int(file.Fd()), fd, 0)
}

// strip takes a layer from the options.
func strip(l escape.Layer, list []string) []string {
	switch l {
	case escape.NetNS:
		return without(list, "--unshare-net", 1)
	case escape.IPCNS:
		return without(list, "--unshare-ipc", 1)
	case escape.UserNS:
		return without(list, "--disable-userns", 1)
	case escape.Caps:
		return append([]string{"--cap-add", "ALL"}, without(list, "--cap-drop", 2)...)
	case escape.ReadOnly:
		return writable(list)
	case escape.Masks:
		return unmasked(list)
	case escape.View:
		return everything(list)
	}
	return list
}

// realPasswords shows the host's list of accounts instead of the made one.
func realPasswords(list []string) []string {
	at := slices.Index(list, "/etc/passwd")
	if at < 4 { // --perms P --ro-bind-data FD
		return list
	}
	return slices.Replace(list, at-4, at+1, "--ro-bind", "/etc/passwd", "/etc/passwd")
}

func without(list []string, option string, words int) []string {
	for i := slices.Index(list, option); i >= 0; i = slices.Index(list, option) {
		list = slices.Delete(list, i, i+words)
	}
	return list
}

// writable mounts everything writable. What bwrap copies from a descriptor can
// only be read-only, so it becomes a file of the private root.
func writable(list []string) []string {
	list = without(list, "--remount-ro", 2)
	for i, word := range list {
		switch word {
		case "--ro-bind":
			if list[i+1] != "/proc/sys" && list[i+1] != os.DevNull { // those are masks
				list[i] = "--bind"
			}
		case "--ro-bind-fd":
			list[i] = "--bind-fd"
		case "--ro-bind-data":
			list[i] = "--bind-data"
		}
	}
	return list
}

// unmasked uncovers files of procfs, and /proc/sys.
func unmasked(list []string) []string {
	for i := 0; i+2 < len(list); i++ {
		if list[i] == "--ro-bind" && (list[i+1] == os.DevNull || list[i+1] == "/proc/sys") {
			list = slices.Delete(list, i, i+3)
			i--
		}
	}
	return list
}

// everything shows the whole host: what is not in the list of the root, and
// devices.
func everything(list []string) []string {
	var first, devices []string
	show := func(dir string, not ...string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			if path := filepath.Join(dir, e.Name()); !slices.Contains(not, e.Name()) && !slices.Contains(list, path) {
				first = append(first, "--bind-try", path, path)
			}
		}
	}
	show("/", "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "proc", "dev", "tmp", "home", "scratch", "lost+found")
	show("/home", filepath.Base(runner.HomePath))
	show("/etc", "passwd", "group", "hosts", "resolv.conf", "nsswitch.conf", "localtime", "ssl", "mtab")
	if entries, err := os.ReadDir("/dev"); err == nil {
		for _, e := range entries {
			if !slices.Contains([]string{"null", "zero", "full", "random", "urandom", "tty", "pts", "shm", "ptmx", "console", "core", "fd", "stdin", "stdout", "stderr", "mqueue", "hugepages"}, e.Name()) {
				devices = append(devices, "--dev-bind-try", "/dev/"+e.Name(), "/dev/"+e.Name())
			}
		}
	}
	list = realPasswords(list)
	if files, err := filepath.Glob("/dev/shm/sbxcron-escape-*"); err == nil {
		for _, f := range files {
			at := slices.Index(list, "/dev/shm") // of the tmpfs
			list = slices.Insert(list, at+1, "--bind-try", f, f)
		}
	}
	if at := slices.Index(list, "--dev"); at >= 0 {
		list = slices.Insert(list, at+2, devices...)
	}
	return append(first, list...)
}
