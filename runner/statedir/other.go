//go:build !linux

package statedir

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/pin"
)

// Folder is the state folder of one job.
type Folder struct {
	Root    string
	Name    string
	Account pin.Account
}

// Path is what the job would see of it.
func (f Folder) Path() string { return filepath.Join(f.Root, f.Name, "data") }

var errPlatform = errors.New("state folders are kept on Linux only")

// Look fails: no job runs here.
func (f Folder) Look(bool) (jobspec.Observation, *os.File, error) {
	return jobspec.Observation{}, nil, errPlatform
}

// Names lists nothing.
func Names(string) ([]string, error) { return nil, nil }

// Remove fails: there is nothing to remove.
func Remove(string, string) error { return errPlatform }
