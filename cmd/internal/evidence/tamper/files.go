package tamper

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/store/checkpoint"
)

// Files are the members of a bundle by name.
type Files map[string][]byte

const (
	newest   = "conf/checkpoint"
	epochs   = "state/ledger/epochs"
	receipts = "state/ledger/receipts"
)

// Read reads a bundle.
func Read(r io.Reader) (Files, error) {
	f := Files{}
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if err == io.EOF {
			return f, nil
		}
		if err == nil {
			f[h.Name], err = io.ReadAll(t)
		}
		if err != nil {
			return nil, fmt.Errorf("read bundle: %w", err)
		}
	}
}

// Write writes a bundle.
func (f Files) Write(w io.Writer) error {
	t := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(f[name])), Format: tar.FormatUSTAR})
		if _, writeErr := t.Write(f[name]); err != nil || writeErr != nil {
			return fmt.Errorf("write bundle: %s: %w", name, errors.Join(err, writeErr))
		}
	}
	return t.Close()
}

// names are those with a beginning and an end, in order.
func (f Files) names(begin, end string) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if strings.HasPrefix(name, begin) && strings.HasSuffix(name, end) {
			all = append(all, name)
		}
	}
	return all
}

// replace changes the first place of a text in a file, and says whether it is there.
func (f Files) replace(name, from, to string) bool {
	if !bytes.Contains(f[name], []byte(from)) {
		return false
	}
	f[name] = bytes.Replace(f[name], []byte(from), []byte(to), 1)
	return true
}

// drop removes files, and says whether all were there.
func (f Files) drop(names ...string) bool {
	for _, n := range names {
		if _, ok := f[n]; !ok {
			return false
		}
		delete(f, n)
	}
	return len(names) > 0
}

// proven gives the lines that the newest checkpoint vouches for to change, which
// gives back what stands in their place, nil for nothing to be done.
func (f Files) proven(change func(lines []string) []string) bool {
	c, err := checkpoint.Unverified(string(f[newest]))
	if err != nil {
		return false
	}
	var all []string
	months := f.names("state/ledger/", ".jsonl")
	for _, m := range months {
		all = append(all, strings.SplitAfter(strings.TrimSuffix(string(f[m]), "\n"), "\n")...)
		all[len(all)-1] += "\n"
	}
	if c.Size < 1 || c.Size > int64(len(all)) {
		return false
	}
	changed := change(slices.Clone(all[:c.Size]))
	if changed == nil {
		return false
	}
	rest := all[c.Size:]
	f.drop(months...)
	f[months[0]] = []byte(strings.Join(append(changed, rest...), ""))
	return true
}
