package safefile

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Disk is each step that makes bytes durable, in the order in which Write takes
// them. RealDisk is what programs use; tests wrap it to stop between two steps.
type Disk interface {
	WriteAll(f *os.File, data []byte) error
	Sync(f *os.File) error
	Rename(from, to string) error
	SyncDir(dir string) error
}

// RealDisk does the steps on the file system.
type RealDisk struct{}

// WriteAll appends data to f in one write where the system allows it.
func (RealDisk) WriteAll(f *os.File, data []byte) error {
	_, err := f.Write(data)
	return err
}

// Sync makes the content of f durable (fsync(2)).
func (RealDisk) Sync(f *os.File) error { return f.Sync() }

// Rename puts one file in the place of another (rename(2)).
func (RealDisk) Rename(from, to string) error { return os.Rename(from, to) }

// SyncDir makes the names in a folder durable. Windows has no such call.
func (RealDisk) SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Write replaces the file at path, or makes it, atomically and durably.
func Write(path string, data []byte, mode os.FileMode) error {
	return WriteOn(RealDisk{}, path, data, mode)
}

// WriteOn is Write on the given disk. A crash leaves the old file, perhaps
// beside a hidden temporary one that the next WriteOn of that path removes.
func WriteOn(disk Disk, path string, data []byte, mode os.FileMode) error {
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.Remove(temp); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("write %q: %w", path, err)
	}
	if err := fill(disk, temp, data, mode); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	if err := disk.Rename(temp, path); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	if err := disk.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	return nil
}

// Create makes the file at path durably and refuses one that exists: the error
// then is fs.ErrExist. A crash can leave a shorter file.
func Create(path string, data []byte, mode os.FileMode) error {
	disk := RealDisk{}
	if err := fill(disk, path, data, mode); err != nil {
		return fmt.Errorf("create %q: %w", path, err)
	}
	if err := disk.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("create %q: %w", path, err)
	}
	return nil
}

// fill makes a new file, whatever the umask, and syncs its content.
func fill(disk Disk, path string, data []byte, mode os.FileMode) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	if err := f.Chmod(mode); err != nil && runtime.GOOS != "windows" {
		return err
	}
	if err := disk.WriteAll(f, data); err != nil {
		return err
	}
	return disk.Sync(f)
}
