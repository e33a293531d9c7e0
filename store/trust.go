package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// TrustKind is which trust file a copy is of.
type TrustKind string

// The kinds, named as the files are.
const (
	AllowedSigners TrustKind = "allowed_signers"
	RevokedKeys    TrustKind = "revoked_keys"
)

const maxTrustBytes = 1 << 20

// TrustCopy is a version of a trust file that was in force once.
type TrustCopy struct {
	Kind   TrustKind
	Digest jobspec.Digest
	Bytes  []byte
	Since  time.Time // when it was first seen
}

// KeepTrust keeps a version of a trust file under its digest, so that an auditor
// can check old signatures after the file changed. Keeping one twice is nothing.
func KeepTrust(d Dirs, kind TrustKind, content []byte) (jobspec.Digest, error) {
	digest := jobspec.DigestOf(content)
	if kind != AllowedSigners && kind != RevokedKeys {
		return jobspec.Digest{}, fmt.Errorf("keep trust file: kind %q is unknown", kind)
	}
	if err := makeDir(d.TrustDir(), 0o700); err != nil {
		return jobspec.Digest{}, err
	}
	path := d.trustCopy(kind, digest)
	if _, err := os.Lstat(path); err == nil {
		return digest, nil
	}
	return digest, safefile.Write(path, content, 0o600)
}

func (d Dirs) trustCopy(kind TrustKind, digest jobspec.Digest) string {
	return filepath.Join(d.TrustDir(), string(kind)+"."+strings.TrimPrefix(digest.String(), "sha256:"))
}

// ReadTrust returns one kept version.
func ReadTrust(d Dirs, kind TrustKind, digest jobspec.Digest) ([]byte, error) {
	path := d.trustCopy(kind, digest)
	b, err := safefile.Read(path, safefile.Options{MaxBytes: maxTrustBytes, UID: d.UID, Secret: true})
	if err == nil && jobspec.DigestOf(b) != digest {
		err = &Error{Reason: jobspec.CodeStoreCorrupt, Seq: NoSeq, Path: path, Detail: "the bytes do not fit the digest in the name"}
	}
	return b, err
}

// AllTrust returns every kept version of one kind, oldest first. A copy whose
// bytes do not fit its name is an error beside the good ones.
func AllTrust(d Dirs, kind TrustKind) ([]TrustCopy, error) {
	names, err := filepath.Glob(filepath.Join(d.TrustDir(), string(kind)+".*"))
	if err != nil {
		return nil, fmt.Errorf("trust copies: %w", err)
	}
	var all []TrustCopy
	var bad []error
	for _, path := range names {
		b, err := safefile.Read(path, safefile.Options{MaxBytes: maxTrustBytes, UID: d.UID, Secret: true})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			bad = append(bad, err)
			continue
		}
		c := TrustCopy{Kind: kind, Digest: jobspec.DigestOf(b), Bytes: b}
		if d.trustCopy(kind, c.Digest) != path {
			bad = append(bad, &Error{Reason: jobspec.CodeStoreCorrupt, Seq: NoSeq, Path: path, Detail: "the bytes do not fit the digest in the name"})
			continue
		}
		if info, err := os.Lstat(path); err == nil {
			c.Since = info.ModTime()
		}
		all = append(all, c)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Since.Before(all[j].Since) })
	return all, errors.Join(bad...)
}
