package pin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// mountName is argv[0] of a test binary that mounts in a namespace of its own.
const mountName = "pin-test-mounts"

// seenThere is what the child in the mount namespace found.
type seenThere struct {
	Conf, Alias, Inner, Parent jobspec.Location
	AliasObserved              jobspec.Location
	InnerProblem               jobspec.Code
	Quiet, Told                bool // what a mountList said without a change, and after one
}

// mountChild makes alias a bind mount of conf, inner one of a folder in conf,
// and parent/held a third, and says where they lie.
func mountChild() {
	if os.Args[0] != mountName {
		return
	}
	out, err := mountAndLook(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(out)
	os.Exit(0)
}

func mountAndLook(dir string) (seenThere, error) {
	conf, alias, inner, parent := dir+"/conf", dir+"/alias", dir+"/inner", dir+"/parent"
	var s seenThere
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return s, err
	}
	var list mountList
	before, err := list.now()
	if err != nil {
		return s, err
	}
	again, err := list.now()
	s.Quiet = err == nil && &again[0] == &before[0]
	err = errors.Join(
		unix.Mount(conf, alias, "", unix.MS_BIND, ""),
		unix.Mount(conf+"/sub", inner, "", unix.MS_BIND, ""),
		unix.Mount(conf, parent+"/held", "", unix.MS_BIND, ""),
	)
	if err != nil {
		return s, err
	}
	after, err := list.now()
	if err != nil {
		return s, err
	}
	s.Told = bytes.Contains(after, []byte(" "+alias+" ")) && !bytes.Contains(before, []byte(" "+alias+" "))
	for _, l := range []struct {
		to   *jobspec.Location
		path string
	}{{&s.Conf, conf}, {&s.Alias, alias}, {&s.Inner, inner}, {&s.Parent, parent}} {
		if *l.to, err = located(l.path); err != nil {
			return s, err
		}
	}
	set, err := Open(context.Background(), dropped(), []Request{{Use: jobspec.UseCwd, Path: alias}, {Use: jobspec.UseRead, Path: inner}}, Options{})
	if err != nil {
		return s, err
	}
	defer set.Close()
	s.AliasObserved, s.InnerProblem = set.Observation(0).Places, set.Observation(1).Problem
	return s, nil
}

func lookThere(t *testing.T) seenThere {
	t.Helper()
	dir := folder(t)
	for _, sub := range []string{"/conf/sub", "/alias", "/inner", "/parent/held"} {
		if err := os.MkdirAll(dir+sub, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{mountName, dir}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	raw, err := cmd.Output()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("needs the right to make a mount namespace (CAP_SYS_ADMIN)")
	}
	if err != nil {
		t.Fatal(err)
	}
	var s seenThere
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBindMountLiesWhereItsFolderLies(t *testing.T) {
	asRoot(t)
	s := lookThere(t)
	if s.Alias.Self != s.Conf.Self || s.Alias.Device != s.Conf.Device {
		t.Errorf("alias %+v, want the place of %+v", s.Alias, s.Conf)
	}
	if s.AliasObserved.Self != s.Conf.Self || s.AliasObserved.Device != s.Conf.Device {
		t.Errorf("the opened alias %+v, want the place of %+v", s.AliasObserved, s.Conf)
	}
	if s.Inner.Device != s.Conf.Device+"/sub" || s.InnerProblem != "" {
		t.Errorf("inner %+v lies below %q", s.Inner, s.Conf.Device)
	}
	if slices.Contains(s.Inner.Ancestors, s.Conf.Self) {
		t.Error("the test is void: the folder is found without the mounts")
	}
	if !slices.Contains(s.Parent.Below, s.Conf.Device) {
		t.Errorf("parent %+v does not tell that %q is mounted below it", s.Parent, s.Conf.Device)
	}
}

func TestMountinfoIsReadWithItsEscapes(t *testing.T) {
	const raw = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 254:0 /etc/a\040b /srv/x\134y rw - ext4 /dev/vda rw
41 40 0:44 /vol /srv/x\134y/deep rw master:3 propagate_from:2 - btrfs /dev/vdb rw
42 22 0:50 / /mnt/u rw - fuse.sshfs u@h: rw
`
	table, err := parseMounts([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id       uint64
		at, want string
	}{
		{22, "/", "254:0:/"},
		{22, "/etc/a b", "254:0:/etc/a b"},
		{40, `/srv/x\y`, "254:0:/etc/a b"},
		{40, `/srv/x\y/in`, "254:0:/etc/a b/in"},
		{41, `/srv/x\y/deep/f`, "0:44:/vol/f"},
		{40, `/srv/x\y-evil`, ""},
		{40, "/srv", ""},
		{99, "/", ""},
	} {
		if got, ok := table.device(c.id, c.at); got != c.want || ok != (c.want != "") {
			t.Errorf("mount %d, %q: %q, want %q", c.id, c.at, got, c.want)
		}
	}
	got := table.under("/srv")
	slices.Sort(got)
	if strings.Join(got, " ") != "0:44:/vol 254:0:/etc/a b" {
		t.Errorf("below /srv: %q", got)
	}
	if !table[22].local() || table[42].local() || table[99].local() {
		t.Error("only file systems of this machine keep an owner's word")
	}
	for _, bad := range []string{"x", "1 2 3:4 / / rw ext4", "a 1 254:0 / / rw - ext4 d rw"} {
		if _, err := parseMounts([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestTheListOfMountsIsReadAnewWhenOneCame(t *testing.T) {
	if s := lookThere(t); !s.Quiet || !s.Told {
		t.Errorf("without a change the same list %v, after one another %v", s.Quiet, s.Told)
	}
}
