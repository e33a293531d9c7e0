package distro

import (
	"bufio"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Lists are the lists of files of a package manager.
type Lists struct{ dir string }

// Dpkg are the lists of this machine, if it has dpkg.
func Dpkg() Lists { return Lists{dir: "/var/lib/dpkg/info"} }

const suffix = ".md5sums"

// In are the lists of a folder.
func In(dir string) Lists { return Lists{dir: dir} }

// Owner finds the package whose list has the digest of a file at its path, "" for
// none. It reads all lists.
func (l Lists) Owner(path string, file io.Reader) (string, error) {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for the package of %s: %w", path, err)
	}
	sum, err := digest(file)
	if err != nil {
		return "", fmt.Errorf("look for the package of %s: %w", path, err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok {
			continue
		}
		found, err := l.lists(name, path, sum)
		if err != nil || found {
			return name, err
		}
	}
	return "", nil
}

// Holds reports whether the list of one package has the digest of a file at its
// path. A package that is gone holds nothing.
func (l Lists) Holds(name, path string, file io.Reader) (bool, error) {
	if name == "" || name != filepath.Base(name) {
		return false, nil
	}
	sum, err := digest(file)
	if err != nil {
		return false, fmt.Errorf("compare %s with package %s: %w", path, name, err)
	}
	found, err := l.lists(name, path, sum)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return found, err
}

// lists looks for a line of a package's list: a digest, two blanks, and a path
// without the first slash (deb-md5sums(5)).
func (l Lists) lists(name, path, sum string) (bool, error) {
	f, err := os.Open(filepath.Join(l.dir, name+suffix))
	if err != nil {
		return false, fmt.Errorf("read the files of package %s: %w", name, err)
	}
	defer f.Close()
	packed := packedNames(path)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		got, file, ok := strings.Cut(lines.Text(), "  ")
		if ok && got == sum && slices.Contains(packed, file) {
			return true, nil
		}
	}
	return false, lines.Err()
}

// packedNames are the names that a package may have a file under: since /bin and
// others became links into /usr, some lists still have the old ones.
func packedNames(path string) []string {
	name := strings.TrimPrefix(path, "/")
	all := []string{name}
	if short, ok := strings.CutPrefix(name, "usr/"); ok {
		all = append(all, short)
	}
	return all
}

func digest(r io.Reader) (string, error) {
	h := md5.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
