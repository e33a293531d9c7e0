package escape

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelObjects are canaries without a path: System V objects and a key.
type kernelObjects struct {
	shm, sem, msg, key int
	made               bool
}

// shmKey is a name of shared memory that nothing else of this machine has.
func shmKey() int { return 0x53420000 | os.Getpid()&0xffff }

const (
	ipcCreate = 0o1000
	ipcRemove = 0
	ipcStat   = 2
	anybody   = 0o666
)

func sys(nr uintptr, a ...uintptr) (int, error) {
	var v [6]uintptr
	copy(v[:], a)
	r, _, errno := unix.Syscall6(nr, v[0], v[1], v[2], v[3], v[4], v[5])
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

// make fills in the numbers of the objects. A kernel without them has nothing to
// protect there; the number -1 means none.
func (k *kernelObjects) make(targets map[string]string, uid, gid int) error {
	var errs [3]error
	k.shm, errs[0] = sys(unix.SYS_SHMGET, uintptr(shmKey()), 4096, ipcCreate|anybody)
	k.sem, errs[1] = sys(unix.SYS_SEMGET, 0, 1, ipcCreate|anybody)
	k.msg, errs[2] = sys(unix.SYS_MSGGET, 0, ipcCreate|anybody)
	k.made = true
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("make System V objects: %w", err)
	}
	for _, o := range []struct {
		nr uintptr
		id int
	}{{unix.SYS_SHMCTL, k.shm}, {unix.SYS_MSGCTL, k.msg}} {
		if err := give(o.nr, o.id, uid, gid); err != nil {
			return fmt.Errorf("give a System V object to the job: %w", err)
		}
	}
	letter := append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, "a message"...)
	if _, err := sys(unix.SYS_MSGSND, uintptr(k.msg), address(letter), 9, 0); err != nil {
		return fmt.Errorf("send a System V message: %w", err)
	}
	targets["shm"], targets["sem"], targets["msg"], targets["shmkey"] = strconv.Itoa(k.shm), strconv.Itoa(k.sem), strconv.Itoa(k.msg), strconv.Itoa(shmKey())
	targets["key"] = "-1"
	// Readable by whoever knows its number.
	if id, err := unix.AddKey("user", "sbxcron-escape", []byte("a key"), unix.KEY_SPEC_USER_KEYRING); err == nil {
		if unix.KeyctlSetperm(id, 0x3f3f3f3f) == nil {
			k.key, targets["key"] = id, strconv.Itoa(id)
		}
	}
	return nil
}

// give makes an object belong to an account: uid and gid come behind the key in
// struct ipc64_perm.
func give(nr uintptr, id, uid, gid int) error {
	const set = 1
	b := make([]byte, 512)
	if _, err := sys(nr, uintptr(id), ipcStat, address(b)); err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(b[4:], uint32(uid))
	binary.LittleEndian.PutUint32(b[8:], uint32(gid))
	_, err := sys(nr, uintptr(id), set, address(b))
	return err
}

// changes lists objects that are gone or were changed.
func (k *kernelObjects) changes() []string {
	var list []string
	buf := make([]byte, 512)
	if _, err := sys(unix.SYS_SHMCTL, uintptr(k.shm), ipcStat, address(buf)); err != nil {
		list = append(list, "shared memory of System V is gone")
	}
	const getValue, noWait = 12, 0o4000
	if v, err := sys(unix.SYS_SEMCTL, uintptr(k.sem), 0, getValue); err != nil || v != 0 {
		list = append(list, "a semaphore of System V was changed")
	}
	if _, err := sys(unix.SYS_MSGRCV, uintptr(k.msg), address(buf), 64, 0, noWait); err != nil {
		list = append(list, "a message of System V is gone")
	}
	return list
}

func (k *kernelObjects) remove() {
	if !k.made {
		return
	}
	for _, o := range []struct {
		nr uintptr
		id int
	}{{unix.SYS_SHMCTL, k.shm}, {unix.SYS_MSGCTL, k.msg}} {
		if o.id >= 0 {
			_, _ = sys(o.nr, uintptr(o.id), ipcRemove, 0) // an attempt may have removed it
		}
	}
	if k.key > 0 {
		_, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, k.key, unix.KEY_SPEC_USER_KEYRING, 0, 0)
	}
	if k.sem >= 0 {
		_, _ = sys(unix.SYS_SEMCTL, uintptr(k.sem), 0, ipcRemove)
	}
	k.made = false
}

// address is where bytes lie, for system calls that x/sys has no function for.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }
