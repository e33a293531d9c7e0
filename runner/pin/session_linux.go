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
	if acct.Drop && o.Openers != nil {
		return o.Openers.lend(ctx, acct)
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
