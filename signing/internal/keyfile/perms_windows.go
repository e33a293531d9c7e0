package keyfile

import (
	"io/fs"
	"os"
)

func openNow(path string) (*os.File, error) { return os.Open(path) }

// exposed has nothing to say: mode bits mean nothing on Windows, where a file in
// the profile inherits an access list that admits its owner and the system.
func exposed(fs.FileInfo) string { return "" }

// foreign has nothing to say either: a FileInfo knows no owner there.
func foreign(fs.FileInfo) string { return "" }

// SyncFolder has nothing to do: a folder cannot be synced on Windows.
func SyncFolder(string) error { return nil }
