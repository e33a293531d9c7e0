package pin

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

func TestChangeableFileIsHeldAsASealedCopyOfTheHashedBytes(t *testing.T) {
	path := put(t, folder(t)+"/job.sh", "#!/bin/sh\necho one\n", 0o755)
	s := open(t, here(), Options{}, bound(jobspec.RoleExecutable, path))
	seen := s.Observation(0)
	if seen.Problem != "" || !s.Sealed(0) {
		t.Fatalf("got %+v, sealed %v", seen, s.Sealed(0))
	}
	want := []byte("#!/bin/sh\necho one\n")
	if seen.SHA256 != jobspec.DigestOf(want) || seen.Size != int64(len(want)) || seen.Real != path || seen.Mode != 0o755 {
		t.Errorf("observation %+v does not tell the file", seen)
	}
	put(t, path, "#!/bin/sh\necho two\n", 0o755)
	for range 2 {
		if got := content(t, s, 0); !bytes.Equal(got, want) {
			t.Errorf("a start gets %q", got)
		}
	}
	if _, err := s.File(0).WriteAt([]byte("x"), 0); err == nil {
		t.Error("the held copy can be written")
	}
}

func TestSealedCopyCannotBeChangedThroughAnyDescriptor(t *testing.T) {
	path := put(t, folder(t)+"/f", "bytes", 0o644)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, tr := seal(soon(t), f, 100)
	if tr.Why != whyNone {
		t.Fatal(tr)
	}
	defer mem.Close()
	if _, err := mem.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("write: %v", err)
	}
	for _, size := range []int64{0, 3, 50} {
		if err := mem.Truncate(size); !errors.Is(err, unix.EPERM) {
			t.Errorf("truncate to %d: %v", size, err)
		}
	}
	if _, err := unix.Mmap(int(mem.Fd()), 0, 5, unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		t.Error("mapped for writing")
	}
}

func TestFileThatOnlyRootCanChangeIsHeldByItsInode(t *testing.T) {
	if m, err := os.Stat("/usr/bin/env"); err != nil || m.Mode().Perm()&0o022 != 0 {
		t.Skip("/usr/bin/env is missing")
	}
	s := open(t, here(), Options{}, bound(jobspec.RoleInterpreter, "/usr/bin/env"))
	seen := s.Observation(0)
	if seen.Problem != "" || s.Sealed(0) {
		t.Fatalf("got %+v, sealed %v", seen, s.Sealed(0))
	}
	raw, err := os.ReadFile("/usr/bin/env")
	if err != nil {
		t.Fatal(err)
	}
	if seen.SHA256 != jobspec.DigestOf(raw) {
		t.Error("the digest is another file's")
	}
	var held, named unix.Stat_t
	if err := errors.Join(unix.Fstat(int(s.File(0).Fd()), &held), unix.Stat("/usr/bin/env", &named)); err != nil {
		t.Fatal(err)
	}
	if held.Dev != named.Dev || held.Ino != named.Ino {
		t.Error("the held inode is another one")
	}
}

func TestInodeIsHeldOnlyWhereTheWholeWayIsRoots(t *testing.T) {
	asRoot(t)
	base, err := os.MkdirTemp("/opt", "pin-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	mode(t, base, 0o755)
	for _, c := range []struct {
		name    string
		prepare func(dir, file string)
		inode   bool
	}{
		{"all root's", func(string, string) {}, true},
		{"file group-writable", func(_, f string) { mode(t, f, 0o775) }, false},
		{"file of the account", func(_, f string) { owner(t, f, jobUID) }, false},
		{"file of somebody else", func(_, f string) { owner(t, f, otherUID) }, false},
		{"folder of the account", func(d, _ string) { owner(t, d, jobUID) }, false},
		{"folder world-writable and sticky", func(d, _ string) { mode(t, d, 0o777|os.ModeSticky) }, false},
		{"folder group-writable", func(d, _ string) { mode(t, d, 0o775) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(base, strings.ReplaceAll(c.name, " ", "-"))
			file := put(t, dir+"/tool", "x", 0o755)
			mode(t, dir, 0o755)
			c.prepare(dir, file)
			for _, acct := range accounts() {
				s := open(t, acct, Options{}, script(file))
				if p := s.Observation(0).Problem; p != "" || s.Sealed(0) == c.inode {
					t.Errorf("drop %v: problem %q, sealed %v", acct.Drop, p, s.Sealed(0))
				}
			}
		})
	}
}

func TestPathsAreRefusedByWhatTheyAre(t *testing.T) {
	dir := folder(t)
	file := put(t, dir+"/file", "x", 0o644)
	fifo := dir + "/fifo"
	if err := unix.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	sock := dir + "/sock"
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fileLink, dirLink := link(t, file, dir+"/to-file"), link(t, dir, dir+"/to-dir")
	dangling := link(t, dir+"/nothing", dir+"/dangling")
	exe := jobspec.RoleExecutable
	for _, c := range []struct {
		r    Request
		want jobspec.Code
	}{
		{bound(exe, fifo), jobspec.CodeDriftExecPath},
		{script(sock), jobspec.CodeDriftScript},
		{bound(exe, dir), jobspec.CodeDriftExecPath},
		{bound(jobspec.RoleFile, "/dev/null"), jobspec.CodeDriftFile},
		{Request{Use: jobspec.UseRead, Path: fifo}, jobspec.CodePathSensitive},
		{Request{Use: jobspec.UseRead, Path: sock}, jobspec.CodePathSensitive},
		{Request{Use: jobspec.UseWrite, Path: "/dev/null"}, jobspec.CodePathSensitive},
		{Request{Use: jobspec.UseCwd, Path: file}, jobspec.CodeDriftCwd},
		{Request{Use: jobspec.UseCwd, Path: dirLink}, jobspec.CodeDriftCwdSymlink},
		{Request{Use: jobspec.UseRead, Path: dirLink}, jobspec.CodePathUnreachable},
		{bound(exe, fileLink), jobspec.CodeDriftExecPath},
		{bound(exe, dirLink+"/file"), jobspec.CodeDriftExecPath},
		{bound(jobspec.RoleInterpreter, fileLink), jobspec.CodeDriftInterpreter},
		{script(fileLink), jobspec.CodeDriftScript},
		{bound(jobspec.RoleFile, dirLink+"/file"), jobspec.CodeDriftFile},
		{bound(exe, dangling), jobspec.CodeDriftExecMissing},
		{bound(exe, "/proc/self/exe"), jobspec.CodeDriftExecPath},
		{bound(exe, dir+"/nothing"), jobspec.CodeDriftExecMissing},
		{bound(jobspec.RoleInterpreter, dir+"/nothing"), jobspec.CodeDriftInterpreter},
		{script(dir + "/nothing"), jobspec.CodeDriftScript},
		{Request{Use: jobspec.UseCwd, Path: file + "/below"}, jobspec.CodeDriftCwd},
		{Request{Use: jobspec.UseRead, Path: dir + "/nothing"}, jobspec.CodePathUnreachable},
		{Request{Use: jobspec.UseRead, Path: "relative"}, jobspec.CodePathUnreachable},
		{Request{Use: jobspec.UseRead, Path: dir + "/../etc"}, jobspec.CodePathUnreachable},
		{Request{Use: jobspec.UseRead, Path: dir + "/"}, jobspec.CodePathUnreachable},
		{Request{Use: jobspec.UseRead, Path: dir + "/\xff"}, jobspec.CodePathUnreachable},
		{Request{Use: jobspec.UseRead, Path: dir + "/a\x00b"}, jobspec.CodePathUnreachable},
		{Request{Use: jobspec.UseRead, Path: "/" + strings.Repeat("a/", 300) + "a"}, jobspec.CodePathUnreachable},
		{Request{Use: "other", Path: dir}, jobspec.CodePathSensitive},
		{Request{Path: dir}, jobspec.CodePathSensitive},
	} {
		s := open(t, here(), Options{}, c.r)
		seen := s.Observation(0)
		if seen.Problem != c.want || s.File(0) != nil || !seen.SHA256.IsZero() || seen.Detail == "" {
			t.Errorf("%s %s %q: problem %q (%s), want %q, nothing held", c.r.Use, c.r.Role, c.r.Path, seen.Problem, seen.Detail, c.want)
		}
	}
	seen := open(t, here(), Options{}, bound(exe, dirLink+"/file")).Observation(0)
	if !seen.Symlink || seen.Real != file || !strings.Contains(seen.Detail, file) {
		t.Errorf("a link in the middle: %+v", seen)
	}
}

func TestUsablePathsAreHeldForMounting(t *testing.T) {
	dir := folder(t)
	file := put(t, dir+"/file", "x", 0o644)
	reqs := []Request{
		{Use: jobspec.UseCwd, Path: dir}, {Use: jobspec.UseRead, Path: dir}, {Use: jobspec.UseWrite, Path: dir},
		{Use: jobspec.UseRead, Path: file}, {Use: jobspec.UseWrite, Path: file},
		{Use: jobspec.UseDeny, Path: file}, {Use: jobspec.UseRead, Path: "/"},
	}
	mode(t, file, 0o666)
	for _, acct := range accounts() {
		s := open(t, acct, Options{}, reqs...)
		if s.Len() != len(reqs) || len(s.Observations()) != len(reqs) {
			t.Fatalf("%d of %d", s.Len(), len(reqs))
		}
		for i, r := range reqs {
			seen := s.Observation(i)
			if seen.Problem != "" || seen.Real != r.Path || seen.Places.Self == (jobspec.FileID{}) {
				t.Errorf("%s %q: %+v", r.Use, r.Path, seen)
				continue
			}
			flags, err := unix.FcntlInt(s.File(i).Fd(), unix.F_GETFL, 0)
			if err != nil || flags&unix.O_PATH == 0 {
				t.Errorf("%s %q: flags %#x, %v", r.Use, r.Path, flags, err)
			}
			if fd, _ := unix.FcntlInt(s.File(i).Fd(), unix.F_GETFD, 0); fd&unix.FD_CLOEXEC == 0 {
				t.Errorf("%s %q: survives an exec", r.Use, r.Path)
			}
			if _, err := unix.Read(int(s.File(i).Fd()), make([]byte, 1)); err != unix.EBADF {
				t.Errorf("%s %q: opened for reading", r.Use, r.Path)
			}
		}
	}
}

func TestHeldFolderStaysTheSameWhenItsNameIsSwapped(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/cwd/mine", "", 0o644)
	s := open(t, here(), Options{}, Request{Use: jobspec.UseCwd, Path: dir + "/cwd"})
	if err := os.Rename(dir+"/cwd", dir+"/old"); err != nil {
		t.Fatal(err)
	}
	link(t, "/etc", dir+"/cwd")
	if err := unix.Faccessat(int(s.File(0).Fd()), "mine", unix.F_OK, 0); err != nil {
		t.Errorf("the held folder is another one: %v", err)
	}
}

func TestFileOverTheCapIsRefused(t *testing.T) {
	path := put(t, folder(t)+"/big", strings.Repeat("x", 1001), 0o755)
	s := open(t, here(), Options{MaxBytes: 1000}, script(path))
	if p := s.Observation(0).Problem; p != jobspec.CodeDriftTooLarge || s.File(0) != nil {
		t.Errorf("problem %q", p)
	}
	s = open(t, here(), Options{MaxBytes: 1001}, script(path))
	if p := s.Observation(0).Problem; p != "" {
		t.Errorf("at the cap: problem %q", p)
	}
}

func TestCopiesOfOneCallShareTheCap(t *testing.T) {
	dir := folder(t)
	var reqs []Request
	for _, name := range []string{"a", "b", "c"} {
		reqs = append(reqs, script(put(t, dir+"/"+name, strings.Repeat("x", 400), 0o755)))
	}
	reqs = append(reqs, script(put(t, dir+"/d", strings.Repeat("x", 200), 0o755)))
	for _, acct := range accounts() {
		s := open(t, acct, Options{MaxBytes: 1000}, reqs...)
		for i, want := range []jobspec.Code{"", "", jobspec.CodeDriftTooLarge, ""} {
			if p := s.Observation(i).Problem; p != want {
				t.Errorf("drop %v: file %d: problem %q, want %q", acct.Drop, i, p, want)
			}
		}
	}
}

func TestFileThatGrowsOverTheCapWhileItIsCopiedIsRefused(t *testing.T) {
	path := put(t, folder(t)+"/f", "x", 0o755)
	grow := Options{MaxBytes: 1000, trace: func(s stage) {
		if s == stageOpened {
			os.WriteFile(path, bytes.Repeat([]byte("x"), 5000), 0o755)
		}
	}}
	if p := open(t, here(), grow, script(path)).Observation(0).Problem; p != jobspec.CodeDriftTooLarge {
		t.Errorf("problem %q", p)
	}
}

func TestEndedContextHoldsNothing(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	before := descriptors(t)
	path := put(t, folder(t)+"/f", "x", 0o755)
	for _, acct := range accounts() {
		if s, err := tryOpen(ctx, acct, []Request{script(path)}, Options{}); !errors.Is(err, context.Canceled) || s != nil {
			t.Errorf("drop %v: %v, %v", acct.Drop, s, err)
		}
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestCloseLeavesNoDescriptor(t *testing.T) {
	dir := folder(t)
	file := put(t, dir+"/f", "x", 0o755)
	reqs := append(everyUse(file), everyUse(dir)...)
	for _, acct := range accounts() {
		before := descriptors(t)
		s, err := tryOpen(soon(t), acct, reqs, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
		if after := descriptors(t); after > before {
			t.Errorf("drop %v: %d descriptors before, %d after", acct.Drop, before, after)
		}
	}
}

// descriptors counts those of this process, without what the runtime keeps.
func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, fd := range all {
		to, _ := os.Readlink("/proc/self/fd/" + fd.Name())
		if !strings.HasPrefix(to, "anon_inode:") {
			n++
		}
	}
	return n
}

func TestUnreadableFilesOfOthersAreUnreachableForAnOrdinaryUser(t *testing.T) {
	asUser(t)
	dir := folder(t)
	closed := put(t, dir+"/closed/f", "x", 0o644)
	mode(t, dir+"/closed", 0)
	t.Cleanup(func() { os.Chmod(dir+"/closed", 0o700) })
	for _, path := range []string{"/etc/shadow", closed, link(t, "/etc/shadow", dir+"/l1"), link(t, closed, dir+"/l2")} {
		for _, r := range everyUse(path) {
			if r.Use == jobspec.UseCwd && strings.HasSuffix(path, "shadow") {
				continue // a file is no cwd, whoever asks
			}
			s := open(t, here(), Options{}, r)
			if p := s.Observation(0).Problem; p != jobspec.CodePathUnreachable || s.File(0) != nil {
				t.Errorf("%s %s %q: problem %q", r.Use, r.Role, path, p)
			}
		}
	}
}
