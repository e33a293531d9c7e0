package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/canon"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// Bounds of what lies beside the outputs of a run.
const (
	MaxTextBytes    = 64 << 10
	maxSidecarBytes = 512 << 10
	saltBytes       = 32
	sidecarType     = "sbxcron.output/v1"
	dayForm         = "2006-01-02"
)

// Outputs are the files that runs wrote, in one folder a day. The leaf of a run
// binds them by commitments; salt, hash and free text lie in a sidecar beside
// them, so that removing both leaves a leaf that gives nothing away.
type Outputs struct {
	dirs   Dirs
	random io.Reader // for salts
}

// NewOutputs uses the output folder of d; random is crypto/rand.Reader but in tests.
func NewOutputs(d Dirs, random io.Reader) *Outputs { return &Outputs{dirs: d, random: random} }

// sidecar is RUN.json.
type sidecar struct {
	Type    string         `json:"type"`
	Run     string         `json:"run"`
	Streams []sealedStream `json:"streams"`
	Text    string         `json:"text"`
	Salt    jobspec.Digest `json:"text_salt"`
}

// sealedStream holds the plain hashes of one stream and a salt for each. A salt
// is 32 random bytes and written as digests are.
type sealedStream struct {
	Stream   string         `json:"stream"`
	Bytes    int64          `json:"bytes"`
	SHA256   jobspec.Digest `json:"sha256"`
	Salt     jobspec.Digest `json:"salt"`
	Kept     int64          `json:"kept_bytes"`
	KeptSHA  jobspec.Digest `json:"kept_sha256"`
	KeptSalt jobspec.Digest `json:"kept_salt"`
}

// Create makes the file of one stream of a run for writing: "out", "err", or what
// record.AttemptStream makes of them.
func (o *Outputs) Create(run, stream string) (*os.File, error) {
	path, err := o.path(run, stream)
	if err != nil {
		return nil, err
	}
	if err := makeDir(o.dirs.OutputDir(), 0o700); err != nil {
		return nil, err
	}
	if err := makeDir(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("output of run %s: %w", run, err)
	}
	return f, nil
}

// Forget removes the files of an attempt that did not start; they are empty. What it
// cannot remove is pruned with its age.
func (o *Outputs) Forget(run string, attempt int) {
	for _, stream := range []string{"out", "err"} {
		path, err := o.path(run, record.AttemptStream(stream, attempt))
		if err != nil {
			return
		}
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			_ = os.Remove(path) // see above
		}
	}
}

// Open opens one stream of a run for reading; fs.ErrNotExist when it was
// pruned, is missing, or the run wrote nothing to it.
func (o *Outputs) Open(run, stream string) (*os.File, error) {
	path, err := o.path(run, stream)
	if err != nil {
		return nil, err
	}
	return safefile.Open(path, os.O_RDONLY, safefile.Options{UID: o.dirs.UID, Secret: true})
}

// Seal makes what a run wrote durable and returns the commitments for its leaf:
// one Output a stream and one for the text, zero where there is none. A stream
// without a byte keeps no file and its Output no hash.
func (o *Outputs) Seal(run string, captured []record.Captured, text string) ([]record.Output, jobspec.Digest, error) {
	if len(text) > MaxTextBytes {
		return nil, jobspec.Digest{}, fmt.Errorf("text of run %s: %d bytes, at most %d", run, len(text), MaxTextBytes)
	}
	side := sidecar{Type: sidecarType, Run: run, Text: text}
	var outputs []record.Output
	for _, c := range captured {
		out := record.Output{Stream: c.Stream, Bytes: c.Bytes, Kept: c.Kept, Truncated: c.Truncated}
		s, err := o.sealStream(run, c)
		if err != nil {
			return nil, jobspec.Digest{}, err
		}
		if s != nil {
			out.SHA256 = commit(s.Salt, s.SHA256[:])
			out.KeptSHA = commit(s.KeptSalt, s.KeptSHA[:])
			side.Streams = append(side.Streams, *s)
		}
		outputs = append(outputs, out)
	}
	var textCommit jobspec.Digest
	if text != "" {
		if err := o.salt(&side.Salt); err != nil {
			return nil, jobspec.Digest{}, err
		}
		textCommit = commit(side.Salt, []byte(text))
	}
	if err := o.writeSidecar(side); err != nil {
		return nil, jobspec.Digest{}, err
	}
	return outputs, textCommit, nil
}

// sealStream syncs the file of a stream and draws its salts. An empty stream
// has no file and no salts.
func (o *Outputs) sealStream(run string, c record.Captured) (*sealedStream, error) {
	path, err := o.path(run, c.Stream)
	if err != nil {
		return nil, err
	}
	if c.Bytes == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("output of run %s: %w", run, err)
		}
		return nil, nil
	}
	if err := syncFile(path); err != nil {
		return nil, fmt.Errorf("output of run %s: %w", run, err)
	}
	s := &sealedStream{Stream: c.Stream, Bytes: c.Bytes, SHA256: c.SHA256, Kept: c.Kept, KeptSHA: c.KeptSHA}
	return s, errors.Join(o.salt(&s.Salt), o.salt(&s.KeptSalt))
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(dataSync(f), f.Close())
}

func (o *Outputs) writeSidecar(s sidecar) error {
	if len(s.Streams) == 0 && s.Text == "" {
		return nil
	}
	path, err := o.path(s.Run, "json")
	if err != nil {
		return err
	}
	b, err := canon.Marshal(&s)
	if err != nil {
		return fmt.Errorf("output of run %s: %w", s.Run, err)
	}
	if err := makeDir(o.dirs.OutputDir(), 0o700); err != nil {
		return err
	}
	if err := makeDir(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return safefile.Write(path, b, 0o600)
}

func (o *Outputs) readSidecar(run string) (*sidecar, error) {
	path, err := o.path(run, "json")
	if err != nil {
		return nil, err
	}
	b, err := safefile.Read(path, safefile.Options{MaxBytes: maxSidecarBytes, UID: o.dirs.UID, Secret: true})
	if err != nil {
		return nil, err
	}
	var s sidecar
	if err := canon.Unmarshal(b, &s, maxSidecarBytes); err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	if s.Type != sidecarType || s.Run != run {
		return nil, fmt.Errorf("%q: not the sidecar of run %s", path, run)
	}
	return &s, nil
}

// Text returns the free text that was sealed with a run, "" where there was none.
func (o *Outputs) Text(run string) (string, error) {
	s, err := o.readSidecar(run)
	if err != nil {
		return "", err
	}
	return s.Text, nil
}

// path checks run and extension before they become a path.
func (o *Outputs) path(run, ext string) (string, error) {
	at, err := record.RunTime(run)
	if err != nil {
		return "", err
	}
	if !record.IsStream(ext) && ext != "json" {
		return "", fmt.Errorf("stream %q: want out or err, or out.2 of a second attempt", ext)
	}
	return filepath.Join(o.dirs.OutputDir(), at.Format(dayForm), run+"."+ext), nil
}

func (o *Outputs) salt(s *jobspec.Digest) error {
	if _, err := io.ReadFull(o.random, s[:saltBytes]); err != nil {
		return fmt.Errorf("draw salt: %w", err)
	}
	return nil
}

// commit binds value without showing it: SHA-256 over salt and value.
func commit(salt jobspec.Digest, value []byte) jobspec.Digest {
	h := sha256.New()
	h.Write(salt[:])
	h.Write(value)
	return jobspec.Digest(h.Sum(nil))
}
