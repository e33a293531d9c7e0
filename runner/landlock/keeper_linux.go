package landlock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/sbxcron/sbxcron/runner/internal/child"
	"github.com/sbxcron/sbxcron/runner/pin"
)

// kept is the service's side of a keeper.
type kept struct {
	proc *os.Process
	conn *net.UnixConn
	over chan struct{} // closed when the keeper is gone
	end  message       // valid when over is closed; Over says that nothing is left of the run
}

// startKeeper starts a keeper, which starts the stub with these files at 0, 1, 2
// and so on. It returns the number of the stub's process.
func startKeeper(ctx context.Context, files []*os.File, stub *os.File, until time.Time) (*kept, int, error) {
	conn, theirs, err := child.SocketPair("keeper")
	if err != nil {
		return nil, 0, err
	}
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		conn.Close()
		return nil, 0, err
	}
	defer null.Close()
	all := append([]*os.File{null, null, null, theirs}, files...)
	proc, err := startSelf(ctx, []string{childName, strconv.Itoa(len(files))}, append(all, stub))
	if err != nil {
		conn.Close()
		return nil, 0, fmt.Errorf("start the keeper: %w", err)
	}
	k := &kept{proc: proc, conn: conn, over: make(chan struct{})}
	pid, err := k.begin(until)
	if err != nil {
		proc.Kill()
		proc.Wait()
		conn.Close()
		return nil, 0, err
	}
	go k.listen()
	return k, pid, nil
}

// startSelf starts our own program with nothing in its environment. It has no
// parent-death signal: a keeper that the service leaves behind ends its run first
// and then itself.
func startSelf(ctx context.Context, argv []string, files []*os.File) (*os.Process, error) {
	exe, err := pin.OwnProgram(ctx)
	if err != nil {
		return nil, err
	}
	defer exe.Close()
	all := append(files[:len(files):len(files)], exe)
	return os.StartProcess(fmt.Sprintf("/proc/self/fd/%d", len(all)-1), argv,
		&os.ProcAttr{Dir: "/", Env: []string{}, Files: all, Sys: &syscall.SysProcAttr{Setsid: true}})
}

// begin hears the first message.
func (k *kept) begin(until time.Time) (int, error) {
	if err := k.conn.SetReadDeadline(until); err != nil {
		return 0, err
	}
	m, err := k.read()
	switch {
	case err != nil:
		return 0, fmt.Errorf("hear the keeper: %w; a main that runs jobs calls landlock.ChildMain first", err)
	case m.Error != "":
		return 0, fmt.Errorf("the keeper says: %s", m.Error)
	case m.PID <= 1:
		return 0, errors.New("the keeper named no process")
	}
	return m.PID, k.conn.SetReadDeadline(time.Time{})
}

func (k *kept) read() (message, error) {
	var m message
	buf := make([]byte, maxMessage)
	n, err := k.conn.Read(buf)
	if err == nil && n == 0 {
		err = errors.New("it ended")
	}
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(buf[:n], &m)
}

// listen waits for the end of the run, and of the keeper.
func (k *kept) listen() {
	if m, err := k.read(); err == nil {
		k.end = m
	}
	k.proc.Wait()
	k.conn.Close()
	close(k.over)
}

// killTime is how long a keeper may take to kill what is left of its run.
const killTime = 5 * time.Second

// kill has the keeper end the run. One that does not answer, because another
// process of the account stopped it, is killed itself, and with it its child.
func (k *kept) kill() {
	k.conn.SetWriteDeadline(time.Now().Add(time.Second))
	k.conn.Write([]byte("kill")) // one that is gone needs no word
	go func() {
		select {
		case <-k.over:
		case <-time.After(killTime):
			k.proc.Kill()
		}
	}()
}
