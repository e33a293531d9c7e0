package store

import (
	"os"

	"github.com/sbxcron/sbxcron/store/safefile"
)

// Disk is every step that makes something durable. Programs use RealDisk;
// tests wrap it to end the process, or to fail, before or after a step.
type Disk interface {
	safefile.Disk
	Commit(transaction func() error) error // runs one transaction of the chain, durable when it returns nil
	DataSync(f *os.File) error             // fdatasync(2)
}

// RealDisk does the steps.
type RealDisk struct{ safefile.RealDisk }

// Commit runs the transaction.
func (RealDisk) Commit(transaction func() error) error { return transaction() }

// DataSync makes the content of f durable, and of its inode what is needed to
// read it back.
func (RealDisk) DataSync(f *os.File) error { return dataSync(f) }
