package store

import (
	"os"

	"github.com/sbxcron/sbxcron/jobspec"
)

// flock refuses: nothing commits and nothing runs on this system.
func flock(f *os.File) (bool, error) {
	return false, &Error{Reason: jobspec.CodeSbxPlatformDisabled, Seq: NoSeq, Path: f.Name(), Detail: "the store is not written on this system"}
}
