package store

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// unpack writes the STATE of a backup into dir, durably. Of CONF nothing is taken:
// it is what the backup is judged by. Everything is held against the manifest.
func unpack(r io.Reader, dir string) error {
	in := tar.NewReader(r)
	var manifest strings.Builder
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return badBackup("it was cut short: the manifest is missing", nil)
		}
		if err != nil {
			return badBackup("it is no tar file, or damaged", err)
		}
		if h.Name == manifestName {
			return endsWith(in, manifest.String())
		}
		if h.Typeflag != tar.TypeReg || !memberName.MatchString(h.Name) {
			return badBackup(fmt.Sprintf("member %q cannot be in one", h.Name), nil)
		}
		sum, err := unpackMember(in, h, dir)
		if err != nil {
			return err
		}
		fmt.Fprintf(&manifest, "%s  %s\n", sum, h.Name)
	}
}

// endsWith holds the manifest against what was read.
func endsWith(in *tar.Reader, want string) error {
	got, err := io.ReadAll(io.LimitReader(in, int64(len(want))+1))
	if err != nil {
		return badBackup("the manifest cannot be read", err)
	}
	if string(got) != want {
		return badBackup("a member is not what the manifest says", nil)
	}
	if _, err := in.Next(); !errors.Is(err, io.EOF) {
		return badBackup("something stands behind the manifest", err)
	}
	return nil
}

func unpackMember(in io.Reader, h *tar.Header, dir string) (sum string, err error) {
	hash := sha256.New()
	if strings.HasPrefix(h.Name, "conf/") {
		if _, err := io.Copy(hash, in); err != nil {
			return "", badBackup("it was cut short", err)
		}
		return fmt.Sprintf("%x", hash.Sum(nil)), nil
	}
	path := filepath.Join(dir, filepath.FromSlash(h.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(io.MultiWriter(f, hash), in)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = badBackup("it was cut short", err)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", err
	}
	if h.ModTime.Unix() > 0 {
		err = os.Chtimes(path, h.ModTime, h.ModTime) // says since when a trust file was in force
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), err
}

func badBackup(detail string, cause error) error {
	return &Error{Reason: jobspec.CodeStoreCorrupt, Seq: NoSeq, Path: "backup", Detail: detail, Err: cause}
}
