package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// CredentialDir is the folder in CONF with the values of credentials, a file
// each.
const CredentialDir = "credentials"

// CredentialFile is where the value of a credential lies in CONF.
func (s Site) CredentialFile(name string) string { return filepath.Join(s.Conf, CredentialDir, name) }

// Credential reads a value as it is now: from CONF, or from what the service
// manager gave. The caller clears it. Its error is an *Error that names the file
// and never says what is in it.
func (s Site) Credential(name string) ([]byte, error) {
	if !jobspec.IsCredentialName(name) {
		return nil, &Error{Reason: jobspec.CodeCredentialMissing, Path: s.CredentialFile("NAME"), Err: fmt.Errorf("%s is no name of a credential", jobspec.Quote(name))}
	}
	own, err := s.secret(s.CredentialFile(name), false)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || s.Given == "" {
		return own, err
	}
	given, gerr := s.secret(filepath.Join(s.Given, name), true)
	switch {
	case errors.Is(gerr, fs.ErrNotExist):
		return own, err
	case err == nil || gerr != nil:
		clear(own)
		clear(given)
		if gerr != nil {
			return nil, gerr
		}
		return nil, &Error{Reason: jobspec.CodeCredentialUnsafe, Path: s.CredentialFile(name),
			Err: errors.New("the service manager gives one, too; remove one of them")}
	}
	return given, nil
}

// secret reads one file into memory that is cleared as a whole.
func (s Site) secret(path string, given bool) ([]byte, error) {
	f, err := safefile.Open(path, os.O_RDONLY, safefile.Options{UID: s.UID, Secret: true, Listed: given})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{Reason: jobspec.CodeCredentialMissing, Path: path, Err: err}
	case err != nil:
		return nil, &Error{Reason: jobspec.CodeCredentialUnsafe, Path: path, Err: err}
	}
	defer f.Close()
	buf := make([]byte, jobspec.MaxCredentialBytes+1)
	n, err := io.ReadFull(f, buf)
	switch {
	case n > jobspec.MaxCredentialBytes:
		err = fmt.Errorf("it is longer than %d bytes", jobspec.MaxCredentialBytes)
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF):
	default:
		return buf[:n], nil
	}
	clear(buf)
	return nil, &Error{Reason: jobspec.CodeCredentialUnusable, Path: path, Err: err}
}

// CredentialNames lists the credentials that there is something for, whether it
// can be used or not.
func (s Site) CredentialNames() []string {
	var all []string
	for _, dir := range []string{filepath.Join(s.Conf, CredentialDir), s.Given} {
		if dir == "" {
			continue
		}
		entries, _ := os.ReadDir(dir) // none, or none that may be listed: reading one says why
		for _, e := range entries {
			if jobspec.IsCredentialName(e.Name()) {
				all = append(all, e.Name())
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
