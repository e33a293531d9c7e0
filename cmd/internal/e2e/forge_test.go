//go:build linux

package e2e

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/daemon"
	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/bwrap"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/keysource"
	"github.com/sbxcron/sbxcron/signing/signingtest"
	"github.com/sbxcron/sbxcron/store"
)

// What an attacker does who may write the files of STATE: copy them, put older
// ones back, and write into the chain without the program.

func (h *house) dirs() store.Dirs {
	h.t.Helper()
	site, err := config.Find(h.root)
	if err != nil {
		h.t.Fatal(err)
	}
	return site.Dirs
}

// twin copies the installation, so that one case spoils nothing for the next.
// Workspaces and key are shared.
func (h *house) twin(t *testing.T) *house {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	other := *h
	other.t, other.root = t, filepath.Join(dir, "root")
	copyTree(t, h.root, other.root)
	return &other
}

// copyTree copies folders and files with their modes; sockets stay behind.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := to + path[len(from):]
		switch {
		case d.IsDir():
			return os.Mkdir(target, info.Mode().Perm())
		case info.Mode().IsRegular():
			return copyFile(path, target, info.Mode().Perm())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(from, to string, mode fs.FileMode) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, b, mode); err != nil {
		return err
	}
	return os.Chmod(to, mode)
}

// entries are the ops of the chain.
func (h *house) entries() []store.Entry {
	h.t.Helper()
	all, err := store.ReadEntries(h.dirs())
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// editChain writes into the database without the program.
func (h *house) editChain(edit func(ops *bolt.Bucket) error) {
	h.t.Helper()
	db, err := bolt.Open(h.dirs().ChainDB(), 0o600, &bolt.Options{Timeout: time.Second, NoSync: true, NoFreelistSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		h.t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error { return edit(tx.Bucket([]byte("ops"))) })
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// put stores entries, whatever was there.
func (h *house) putEntries(entries ...store.Entry) {
	h.t.Helper()
	h.editChain(func(ops *bolt.Bucket) error {
		for _, e := range entries {
			if err := ops.Put(seqKey(e.Seq), layOut(e)); err != nil {
				return err
			}
		}
		return nil
	})
}

// cut leaves the first n ops.
func (h *house) cut(n int) {
	h.t.Helper()
	total := len(h.entries())
	h.editChain(func(ops *bolt.Bucket) error {
		for seq := n; seq < total; seq++ {
			if err := ops.Delete(seqKey(int64(seq))); err != nil {
				return err
			}
		}
		return nil
	})
}

func seqKey(seq int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(seq)) }

// layOut is the stored form of an entry; see store.Entry.
func layOut(e store.Entry) []byte {
	out := []byte{1}
	out = binary.AppendUvarint(out, uint64(len(e.Sigs)))
	out = binary.AppendUvarint(out, uint64(len(e.Op)))
	for _, s := range e.Sigs {
		out = binary.AppendUvarint(out, uint64(len(s)))
	}
	out = append(out, e.Op...)
	for _, s := range e.Sigs {
		out = append(out, s...)
	}
	return out
}

// flipped is b with one bit changed.
func flipped(b []byte, bit int) []byte {
	out := append([]byte(nil), b...)
	out[bit/8] ^= 1 << (bit % 8)
	return out
}

// sign signs with the owner's key, in any namespace.
func (h *house) sign(namespace string, raw []byte) []byte {
	h.t.Helper()
	s, err := keysource.Source{Key: h.key}.Open(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	sig, err := s.Sign(context.Background(), namespace, raw)
	if err != nil {
		h.t.Fatal(err)
	}
	return sig
}

// planned makes an op with the program, unsigned.
func (h *house) planned(args ...string) *jobspec.Op {
	h.t.Helper()
	file := filepath.Join(h.t.TempDir(), "op.json")
	h.must(append([]string{"plan", args[0], args[1], "--out", file}, args[2:]...)...)
	raw, err := os.ReadFile(file)
	if err != nil {
		h.t.Fatal(err)
	}
	op, err := jobspec.DecodeOp(raw)
	if err != nil {
		h.t.Fatal(err)
	}
	return op
}

// never is a schedule that is not due while a test runs.
const never = "0 0 1 1 *"

// draftOp is an add of /bin/true in the tier.
func (h *house) draftOp(tier, job string, more ...string) *jobspec.Op {
	h.t.Helper()
	args := []string{"add", job, "--schedule", never, "--tier", tier}
	if tier != "scratch" {
		args = append(args, "--cwd", h.mkdir("drafts"))
	} else if os.Getuid() == 0 {
		args = append(args, "--run-as", jobUser)
	}
	args = append(args, more...)
	return h.planned(append(args, "--", "/bin/true")...)
}

func encode(t *testing.T, op *jobspec.Op) []byte {
	t.Helper()
	raw, err := op.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// trustAlso appends keys to allowed_signers.
func (h *house) trustAlso(keys ...*signingtest.Key) {
	h.t.Helper()
	path := h.dirs().AllowedSigners()
	b, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	h.write(path, append(b, signingtest.AllowedSigners(h.t, keys...)...))
}

// write replaces the text of an existing file.
func (h *house) write(path string, b []byte) {
	h.t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// admit gives a principal what alice has in policy.toml.
func (h *house) admit(principal string) {
	h.t.Helper()
	path := h.dirs().Policy()
	b, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	text := string(b) + "\n[principals." + principal + "]\nmax_tier = \"workspace\"\nmax_net = \"none\"\nmax_ttl = \"90d\"\nmin_interval = \"1m\"\nmax_jobs = 20\n"
	if os.Getuid() == 0 {
		text += "run_as = [\"" + jobUser + "\"]\n"
	}
	h.write(path, []byte(text))
}

// keyFile writes the private half for stock tools and our own.
func keyFile(t *testing.T, k *signingtest.Key) string {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(ed25519.PrivateKey(k.Private()), k.Principal)
	if err != nil {
		t.Fatal(err)
	}
	path := signingtest.File(t, "id", pem.EncodeToMemory(block))
	if err := os.WriteFile(path+".pub", ssh.MarshalAuthorizedKey(k.Public()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// insider opens installations in this process, with the real examiner.
type insider struct {
	backend *bwrap.Backend
}

func newInsider(t *testing.T) *insider {
	t.Helper()
	b, err := bwrap.New(bwrap.Options{RunDir: t.TempDir(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return &insider{b}
}

// open opens the engine as the service does (serve), or as a command does. The
// caller closes it.
func (i *insider) open(t *testing.T, h *house, serve bool) (*engine.Engine, error) {
	t.Helper()
	site := config.Site{Dirs: h.dirs()}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x := &examine.Examiner{Site: site, Sandbox: i.backend, Cache: pin.NewCache(time.Now), Bwrap: bwrap.Program, Binary: binary, Now: time.Now}
	return engine.Open(engine.Options{Site: site, Clock: time.Now, BootID: daemon.BootID(), Version: "e2e", Examiner: x,
		Outputs: store.NewOutputs(site.Dirs, nil), Disk: store.RealDisk{}, Serve: serve})
}

// must opens the engine until the test ends.
func (i *insider) must(t *testing.T, h *house, serve bool) *engine.Engine {
	t.Helper()
	e, err := i.open(t, h, serve)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// apply offers an op by the command.
func (h *house) apply(e store.Entry) result {
	h.t.Helper()
	op := signingtest.File(h.t, "op.json", e.Op)
	sig := signingtest.File(h.t, "op.json.sig", signing.Armor(e.Sigs[0]))
	return h.run("apply", op, sig)
}
