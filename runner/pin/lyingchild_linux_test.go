package pin

import (
	"os"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

// A child that the account took over can say and send what it likes. What it
// sends is asked again of the kernel.
func TestWhatALyingChildSendsIsNotBelieved(t *testing.T) {
	dir := folder(t)
	path := put(t, dir+"/job.sh", "signed", 0o755)
	other := put(t, dir+"/other/job.sh", "other", 0o755)
	table, err := readMounts()
	if err != nil {
		t.Fatal(err)
	}
	honest := func(p string) chain {
		c, err := walk(p)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	readable := func(p string) *os.File {
		f, err := os.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, c := range []struct {
		name string
		lie  func() opened
	}{
		{"a plain file as sealed copy", func() opened {
			return opened{chain: honest(path), content: readable(path), sealed: true}
		}},
		{"a memfd without seals", func() opened {
			mem, err := newMemfd("x")
			if err != nil {
				t.Fatal(err)
			}
			return opened{chain: honest(path), content: mem, sealed: true}
		}},
		{"a changeable inode as root's", func() opened {
			return opened{chain: honest(path), content: readable(path)}
		}},
		{"another inode that is root's", func() opened {
			return opened{chain: honest(path), content: readable("/usr/bin/env")}
		}},
		{"the chain of another path", func() opened {
			return opened{chain: honest(other), content: sealedCopy(t, path), sealed: true}
		}},
		{"a chain without its beginning", func() opened {
			return opened{chain: honest(path)[2:], content: sealedCopy(t, path), sealed: true}
		}},
		{"a chain with a folder left out", func() opened {
			c := honest(path)
			c[1].Close()
			return opened{chain: append(chain{c[0]}, c[2:]...), content: sealedCopy(t, path), sealed: true}
		}},
		{"a descriptor with rights", func() opened {
			c := honest(path)
			c[len(c)-1].Close()
			c[len(c)-1] = readable(path)
			return opened{chain: c, content: sealedCopy(t, path), sealed: true}
		}},
		{"a folder as bound file", func() opened {
			return opened{chain: honest(dir), content: sealedCopy(t, path), sealed: true}
		}},
	} {
		h, err := observe(soon(t), script(path), c.lie(), table, room{100, 100}, Options{})
		if err != nil || h.seen.Problem == "" || h.file != nil || !h.seen.SHA256.IsZero() {
			t.Errorf("%s: %+v, %v", c.name, h.seen, err)
		}
	}
	h, err := observe(soon(t), script(path), opened{chain: honest(path), content: sealedCopy(t, path), sealed: true}, table, room{100, 100}, Options{})
	if err != nil || h.seen.Problem != "" {
		t.Errorf("the truth: %+v, %v", h.seen, err)
	}
	h.file.Close()
}

func sealedCopy(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, tr := seal(soon(t), f, MaxSealed)
	if tr.Why != whyNone {
		t.Fatal(tr)
	}
	return mem
}

func TestAnswersThatDoNotFitTheirDescriptorsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		a     answer
		files int
		ok    bool
	}{
		{"nothing at all", answer{}, 0, false},
		{"fewer than said", answer{Dirs: 3}, 2, false},
		{"more than said", answer{Dirs: 1}, 2, false},
		{"negative", answer{Dirs: -1, Content: true}, 0, false},
		{"trouble with descriptors", answer{Trouble: trouble{Why: whyMissing}, Dirs: 1}, 1, false},
		{"content for a folder", answer{Dirs: 1, Content: true}, 2, false},
		{"trouble", answer{Trouble: trouble{Why: whyMissing}}, 0, true},
		{"a chain", answer{Dirs: 2}, 2, true},
	} {
		var files []*os.File
		for range c.files {
			f, err := os.Open("/")
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		p, err := c.a.unpack(Request{Use: jobspec.UseRead, Path: "/"}, files)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		p.close()
	}
}
