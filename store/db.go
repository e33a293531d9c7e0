package store

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// Bounds of the databases. The map is address space only (but on Windows,
// where it is file size, nothing is opened for writing).
const (
	dbTimeout   = time.Second
	chainMapped = 64 << 20
	chainMax    = 1 << 30
	runsMapped  = 256 << 20
	runsMax     = 16 << 30
)

// dbOptions are those of research on this version of bbolt: a freelist that is
// not written at each commit, a map large enough that a writer never waits for
// a reader, a hard ceiling, and a timeout, since the default waits for ever.
func dbOptions(mapped, limit int) *bolt.Options {
	return &bolt.Options{
		Timeout:         dbTimeout,
		NoFreelistSync:  true,
		FreelistType:    bolt.FreelistMapType,
		InitialMmapSize: mapped,
		MaxSize:         limit,
		NoStatistics:    true,
	}
}

// guard runs fn, which touches a mapped file, and turns a panic or a memory
// fault into an error. The fault setting belongs to a goroutine, so fn gets its
// own; guard waits for it.
func guard(path string, fn func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		debug.SetPanicOnFault(true)
		defer func() {
			if p := recover(); p != nil {
				err = corrupt(path, fmt.Errorf("%v", p))
			}
		}()
		err = fn()
	}()
	<-done
	return err
}

func corrupt(path string, cause error) error {
	return &Error{Reason: jobspec.CodeStoreCorrupt, Seq: NoSeq, Path: path, Detail: "the database is damaged", Err: cause}
}

// openExisting opens a database that must be there already.
//
// Opening for writing makes bbolt walk every page in a goroutine of its own,
// where a page that is damaged or cut off ends the process and no guard of ours
// can help (see TestDamagedDatabaseFileIsRefusedAndNeverMadeAnew). So the file
// is read whole first, without writing, in our own goroutine.
func openExisting(d Dirs, path string, o *bolt.Options) (*bolt.DB, *os.File, error) {
	if !o.ReadOnly {
		if err := inspect(d, path, *o); err != nil {
			return nil, nil, err
		}
	}
	return openFile(d, path, o)
}

// inspect opens the database for reading and touches each page in use.
func inspect(d Dirs, path string, o bolt.Options) error {
	o.ReadOnly = true
	db, file, err := openFile(d, path, &o)
	if err != nil {
		return err
	}
	err = guard(path, func() error {
		return db.View(func(tx *bolt.Tx) error {
			if st, err := file.Stat(); err != nil || st.Size() < tx.Size() {
				return corrupt(path, fmt.Errorf("the file is shorter than its %d bytes in use", tx.Size()))
			}
			return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
				return b.ForEach(func(_, _ []byte) error { return nil })
			})
		})
	})
	return errors.Join(err, guard(path, db.Close))
}

// openFile opens a checked file as a database. bbolt would fill an empty file
// with an empty database; here that is damage.
func openFile(d Dirs, path string, o *bolt.Options) (*bolt.DB, *os.File, error) {
	var file *os.File
	o.OpenFile = func(string, int, os.FileMode) (*os.File, error) {
		access := os.O_RDWR
		if o.ReadOnly {
			access = os.O_RDONLY
		}
		f, err := safefile.Open(path, access, safefile.Options{UID: d.UID, Secret: true})
		if err != nil {
			return nil, err
		}
		if st, err := f.Stat(); err != nil || st.Size() == 0 {
			f.Close()
			return nil, corrupt(path, errors.New("the file is empty"))
		}
		file = f
		return f, nil
	}
	var db *bolt.DB
	err := guard(path, func() (err error) {
		db, err = bolt.Open(path, 0o600, o)
		return err
	})
	if err == nil {
		return db, file, nil
	}
	if file != nil {
		file.Close() // after a panic bbolt leaves it open, and locked
	}
	return nil, nil, openDBError(d, path, err)
}

// openDBError sorts what bbolt says into locked, refused and damaged.
func openDBError(d Dirs, path string, err error) error {
	var ours *Error
	var unsafe *safefile.Error
	var sys *os.PathError
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return &LockedError{Path: path, PID: holder(d)}
	case errors.As(err, &ours), errors.As(err, &unsafe), errors.As(err, &sys):
		return err
	default:
		return corrupt(path, err)
	}
}
