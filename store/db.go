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
	chainMax    = 16 << 30 // a million jobs take 2 to 3 GiB
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
// bbolt trusts the structure of its pages. Opening for writing walks them in a
// goroutine of its own, where a damaged page ends the process or takes all
// memory, and no guard of ours can help (TestNoDamageToADatabaseEndsTheProcess
// shows both). So the structure is checked first, under a shared lock and with
// the file opened for reading, for which bbolt looks at the meta pages only.
func openExisting(d Dirs, path string, o *bolt.Options) (*bolt.DB, *os.File, error) {
	read := *o
	read.ReadOnly = true
	db, file, err := openFile(d, path, &read)
	if err != nil {
		return nil, nil, err
	}
	if err := inspect(path, file); err != nil {
		return nil, nil, errors.Join(err, guard(path, db.Close))
	}
	if o.ReadOnly {
		return db, file, nil
	}
	if err := guard(path, db.Close); err != nil {
		return nil, nil, err
	}
	return openFile(d, path, o)
}

func inspect(path string, file *os.File) error {
	st, err := file.Stat()
	if err != nil {
		return err
	}
	if err := checkPages(file, st.Size()); err != nil {
		return corrupt(path, err)
	}
	return nil
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
