package pin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// opener is whoever holds the rights: this process, or a child.
type opener interface {
	open(ctx context.Context, r Request, left room) (opened, error)
	find(ctx context.Context, s search) (string, trouble, error)
	close() error
}

// itself opens with the rights of this process.
type itself struct {
	table mounts
	o     Options
}

func (i itself) open(ctx context.Context, r Request, left room) (opened, error) {
	p := openPath(ctx, r, i.table, left, i.o)
	if err := ctx.Err(); err != nil {
		p.close()
		return opened{}, err
	}
	return p, nil
}

func (i itself) find(_ context.Context, s search) (string, trouble, error) {
	found, t := s.find()
	return found, t, nil
}

func (i itself) close() error { return nil }

// session is a running child with an account's rights.
type session struct {
	cmd  *exec.Cmd
	conn *net.UnixConn
}

// newOpener chooses who opens for acct.
func newOpener(ctx context.Context, acct Account, table mounts, o Options) (opener, error) {
	if err := acct.check(os.Geteuid()); err != nil {
		return nil, err
	}
	if acct.Drop {
		return startSession(ctx, acct)
	}
	return itself{table: table, o: o}, nil
}

// check refuses ids that are root's, that are not ours without a change, or that
// setuid(2) would read as "leave it": -1 in 32 bits.
func (a Account) check(self int) error {
	switch {
	case a.UID <= 0 || int64(a.UID) >= math.MaxUint32:
		return fmt.Errorf("open as uid %d: root opens no path that a spec names, and -1 is no account", a.UID)
	case a.Drop && (a.GID <= 0 || int64(a.GID) >= math.MaxUint32):
		return fmt.Errorf("open as uid %d: gid %d cannot be a job's", a.UID, a.GID)
	case !a.Drop && a.UID != self:
		return fmt.Errorf("open as uid %d: this process has uid %d, and the account does not say Drop", a.UID, self)
	}
	return nil
}

// startSession starts the child. It is our own program, executed through a
// descriptor so that it is found below a folder that the account cannot enter.
func startSession(ctx context.Context, acct Account) (*session, error) {
	conn, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		conn.Close()
		return nil, err
	}
	defer exe.Close()
	cmd := exec.CommandContext(ctx, fmt.Sprintf("/proc/self/fd/%d", childExe))
	cmd.Args, cmd.Env, cmd.Dir = []string{childName}, []string{}, "/"
	cmd.ExtraFiles = []*os.File{exe, theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{
		Uid: uint32(acct.UID), Gid: uint32(acct.GID), Groups: []uint32{},
	}}
	if err := startWithoutCaps(cmd); err != nil {
		conn.Close()
		return nil, fmt.Errorf("start the opener as uid %d: %w", acct.UID, err)
	}
	return &session{cmd: cmd, conn: conn}, nil
}

// socketPair makes a pair that keeps messages apart. The child's end blocks.
func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make the opener's socket: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "opener"), os.NewFile(uintptr(fds[1]), "opener")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), theirs, nil
}

// startWithoutCaps starts cmd from a thread whose bounding set is empty and that
// can gain no privileges: both are per thread, inherited over fork, and must be
// in force before the ids change. The thread is never used again; it ends with
// its goroutine. The first thread of a process cannot end, and /proc/PID/status
// shows it, so it is left alone.
func startWithoutCaps(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			done <- startWithoutCaps(cmd)
			return
		}
		if err := dropCaps(); err != nil {
			done <- err
			return
		}
		done <- cmd.Start()
	}()
	return <-done
}

func dropCaps() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && c > unix.CAP_AUDIT_READ {
			break // past the last capability of this kernel
		}
		if err != nil {
			return fmt.Errorf("drop capability %d from the bounding set: %w", c, err)
		}
	}
	// What somebody left open without close-on-exec when they started us.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("mark descriptors close-on-exec: %w", err)
	}
	return nil
}

// close ends the child and waits for it. It is killed, not asked: the account's
// other processes may have stopped it.
func (s *session) close() error {
	s.conn.Close()
	s.cmd.Process.Kill()
	var status *exec.ExitError
	if err := s.cmd.Wait(); err != nil && !errors.As(err, &status) {
		return fmt.Errorf("end the opener: %w", err)
	}
	return nil
}

func (s *session) open(ctx context.Context, r Request, left room) (opened, error) {
	a, files, err := s.ask(ctx, question{Request: r, Room: left})
	if err != nil {
		return opened{}, fmt.Errorf("open %q: %w", r.Path, err)
	}
	return a.unpack(r, files)
}

func (s *session) find(ctx context.Context, what search) (string, trouble, error) {
	a, files, err := s.ask(ctx, question{Search: &what})
	if err != nil {
		return "", trouble{}, fmt.Errorf("find %q: %w", what.Name, err)
	}
	chain(files).close()
	return a.Found, a.Trouble, nil
}

// ask sends one question and reads its answer. The end of ctx kills the child
// (exec.CommandContext), which ends the read.
func (s *session) ask(ctx context.Context, q question) (answer, []*os.File, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return answer{}, nil, err
	}
	if _, err := s.conn.Write(body); err != nil {
		return answer{}, nil, firstOf(ctx, err)
	}
	buf, oob := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*maxFiles))
	n, oobn, flags, _, err := s.conn.ReadMsgUnix(buf, oob)
	if errors.Is(err, io.EOF) {
		err = errors.New("the opener ended; a main that opens with Drop calls pin.ChildMain first")
	}
	if err != nil {
		return answer{}, nil, firstOf(ctx, err)
	}
	files, err := filesOf(oob[:oobn])
	if err != nil {
		return answer{}, nil, err
	}
	var a answer
	err = json.Unmarshal(buf[:n], &a)
	if err == nil && flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = errOddAnswer
	}
	if err != nil {
		chain(files).close()
		return answer{}, nil, firstOf(ctx, err)
	}
	return a, files, nil
}

// firstOf prefers the reason for which the child was killed.
func firstOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
