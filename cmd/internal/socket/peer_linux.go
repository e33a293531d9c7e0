package socket

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// PeerUID is the uid that the kernel noted for the process at the other end when
// it called connect(2) or listen(2) (SO_PEERCRED, unix(7)); nobody can claim it
// for another.
func PeerUID(c net.Conn) (int, error) {
	uid := -1
	err := control(c, func(fd int) error {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil {
			uid = int(cred.Uid)
		}
		return err
	})
	return uid, err
}

// PeerIsBeside reports whether the process at the other end lives, and in the pid
// namespace of this one. Jobs of the backends with namespaces do not, whatever
// their uid is: where one of them came to reach the socket, it would be told by
// this. A kernel before 6.5 has no descriptor of the peer (SO_PEERPIDFD); there a
// process that has ended since, and whose pid is another's, is not told from that.
func PeerIsBeside(c net.Conn) (bool, error) {
	beside := false
	err := control(c, func(fd int) error {
		pidfd, err := peerProcess(fd)
		if err != nil {
			return err
		}
		defer unix.Close(pidfd)
		info, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(pidfd))
		beside = err == nil && oneNumber(info)
		return err
	})
	return beside, err
}

// peerProcess opens the process at the other end.
func peerProcess(fd int) (int, error) {
	if pidfd, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
		return pidfd, nil
	} else if !errors.Is(err, unix.ENOPROTOOPT) {
		return -1, err
	}
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	return unix.PidfdOpen(int(cred.Pid), 0) // 0 for one that is not below this namespace: EINVAL
}

// oneNumber reads what the kernel says of a pidfd (pidfd_open(2), fdinfo): NSpid
// has a number for each pid namespace from this one down. A process that is
// elsewhere has Pid 0, one that has ended -1.
func oneNumber(info []byte) bool {
	for line := range bytes.Lines(info) {
		if rest, ok := bytes.CutPrefix(line, []byte("NSpid:")); ok {
			numbers := bytes.Fields(rest)
			pid, err := strconv.Atoi(string(bytes.Join(numbers, nil)))
			return len(numbers) == 1 && err == nil && pid > 0
		}
	}
	return false
}

// control hands the descriptor of a unix socket to f.
func control(c net.Conn, f func(fd int) error) error {
	local, ok := c.(*net.UnixConn)
	if !ok {
		return errors.New("look at peer: not a unix socket")
	}
	raw, err := local.SyscallConn()
	if err != nil {
		return fmt.Errorf("look at peer: %w", err)
	}
	var said error
	if err := raw.Control(func(fd uintptr) { said = f(int(fd)) }); err != nil {
		return fmt.Errorf("look at peer: %w", err)
	}
	if said != nil {
		return fmt.Errorf("look at peer: %w", said)
	}
	return nil
}
