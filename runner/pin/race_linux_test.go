package pin

import (
	"bytes"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// rounds of open, seal and hash under a swapping neighbour.
const rounds = 10000

// where a swap fell, seen from one Open.
type fell struct{ before, between, after int64 }

// empty reports whether a class was never met.
func (f fell) empty() bool { return f.before == 0 || f.between == 0 || f.after == 0 }

// swapper changes a file until it is stopped, by renaming another over it and by
// writing in place in turn, and counts its swaps.
type swapper struct {
	count atomic.Int64
	stop  atomic.Bool
	wg    sync.WaitGroup
}

func (s *swapper) run(t *testing.T, path string, texts [][]byte) {
	s.wg.Go(func() {
		for i := 0; !s.stop.Load(); i++ {
			text := texts[i%len(texts)]
			err := os.WriteFile(path+".new", text, 0o755)
			if i/len(texts)%2 == 0 && err == nil {
				err = os.Rename(path+".new", path)
			} else if err == nil {
				err = os.WriteFile(path, text, 0o755)
			}
			if err != nil {
				t.Errorf("swap: %v", err)
				return
			}
			s.count.Add(1)
		}
	})
}

// The signed text is one of three that take turns under the name. Whatever the
// moment of a swap, a digest never comes with other bytes, and the bytes stay
// those of the digest.
func TestBytesAlwaysMatchTheDigestUnderASwappingNeighbour(t *testing.T) {
	path := folder(t) + "/job.sh"
	table, err := readMounts()
	if err != nil {
		t.Fatal(err)
	}
	var texts [][]byte
	for i := range 3 {
		texts = append(texts, bytes.Repeat([]byte{byte('a' + i)}, 4096*(i+1)))
	}
	put(t, path, string(texts[0]), 0o755)
	var sw swapper
	sw.run(t, path, texts)
	defer sw.wg.Wait()
	defer sw.stop.Store(true)

	var where fell
	seen := map[string]int{}
	for n := 0; n < rounds || where.empty() && n < 5*rounds; n++ {
		outcome, f := oneRound(t, path, &sw, texts[0], table)
		if t.Failed() {
			return
		}
		seen[outcome]++
		where.before += f.before
		where.between += f.between
		where.after += f.after
	}
	t.Logf("swaps %+v, outcomes %v", where, seen)
	if where.empty() {
		t.Errorf("a class of swaps was never met: %+v", where)
	}
	if seen["signed"] == 0 || seen["other"] == 0 {
		t.Errorf("an outcome was never met: %v", seen)
	}
}

// oneRound opens once. It says what came out and in which part swaps fell.
func oneRound(t *testing.T, path string, sw *swapper, signed []byte, table mounts) (string, fell) {
	var marks [stageHashed + 1]int64
	o := Options{trace: func(s stage) { marks[s] = sw.count.Load() }}
	s, err := openAll(t.Context(), itself{table: table, o: o}, []Request{bound(jobspec.RoleExecutable, path)}, table, o)
	if err != nil {
		t.Error(err)
		return "", fell{}
	}
	defer s.Close()
	opened := s.Observation(0)
	if opened.Problem != "" {
		return string(opened.Problem), fell{}
	}
	got := content(t, s, 0)
	f := fell{marks[stageOpened] - marks[stageStart], marks[stageHashed] - marks[stageOpened], sw.count.Load() - marks[stageHashed]}
	if jobspec.DigestOf(got) != opened.SHA256 || int64(len(got)) != opened.Size {
		t.Errorf("the bytes of a start do not match the digest of the approval")
	}
	isSigned := opened.SHA256 == jobspec.DigestOf(signed)
	if isSigned != bytes.Equal(got, signed) {
		t.Errorf("digest signed: %v, bytes signed: %v", isSigned, !isSigned)
	}
	if isSigned {
		return "signed", f
	}
	return "other", f
}

// A folder and a symbolic link to a secret one take turns under the name of the
// cwd. What is held is the folder or nothing.
func TestHeldFolderIsNeverTheOneThatALinkLedTo(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/secret/f", "", 0o644)
	put(t, dir+"/cwd/f", "", 0o644)
	link(t, dir+"/secret", dir+"/link")
	want, err := located(dir + "/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop.Store(true)
	wg.Go(func() {
		for !stop.Load() {
			if err := unix.Renameat2(unix.AT_FDCWD, dir+"/cwd", unix.AT_FDCWD, dir+"/link", unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("swap: %v", err)
				return
			}
		}
	})
	outcomes := map[jobspec.Code]int{}
	for range 3000 {
		s := open(t, here(), Options{}, Request{Use: jobspec.UseCwd, Path: dir + "/cwd"})
		seen := s.Observation(0)
		outcomes[seen.Problem]++
		if seen.Problem == "" && (seen.Places.Self != want.Self || seen.Places.Device != want.Device) {
			t.Fatalf("held %+v, want %+v", seen.Places, want)
		}
		s.Close()
	}
	t.Logf("outcomes %v", outcomes)
	if outcomes[""] == 0 || outcomes[jobspec.CodeDriftCwdSymlink] == 0 {
		t.Errorf("a class was never met: %v", outcomes)
	}
}

// The same through the account's child, whose copies this process hashes.
func TestBytesMatchTheDigestWhenTheChildCopiedThem(t *testing.T) {
	asRoot(t)
	path := folder(t) + "/in/job.sh"
	texts := [][]byte{bytes.Repeat([]byte("a"), 9000), bytes.Repeat([]byte("b"), 5000)}
	put(t, path, string(texts[0]), 0o755)
	var sw swapper
	sw.run(t, path, texts)
	defer sw.wg.Wait()
	defer sw.stop.Store(true)
	for range 100 {
		s := open(t, dropped(), Options{}, script(path))
		seen := s.Observation(0)
		if seen.Problem != "" {
			continue
		}
		if got := content(t, s, 0); jobspec.DigestOf(got) != seen.SHA256 {
			t.Fatal("the bytes of a start do not match the digest of the approval")
		}
		s.Close()
	}
}
