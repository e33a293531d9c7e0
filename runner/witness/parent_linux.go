package witness

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Spawn starts this program with the given name and files at 0, 1, 2 and so on,
// with the account of the job and nothing in its environment, as a child that
// dies with the caller.
type Spawn func(argv []string, files []*os.File) (*os.Process, error)

// finishTime bounds how long a witness may take for what is left to read once a
// run is over. Another process of its account may have stopped it.
const finishTime = 5 * time.Second

// Reader is a running witness.
type Reader struct {
	proc    *os.Process
	events  *os.File // what it tells
	control *os.File // closed to end it
}

// Start starts a witness that reads input, in a mode.
func Start(spawn Spawn, mode string, input *os.File) (*Reader, error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	theirControl, control, err := pipe()
	if err != nil {
		return nil, err
	}
	defer theirControl.Close()
	events, theirEvents, err := pipe()
	if err != nil {
		control.Close()
		return nil, err
	}
	defer theirEvents.Close()
	proc, err := spawn([]string{ChildName, mode}, []*os.File{theirControl, theirEvents, null, input})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a witness: %w", err), control.Close(), events.Close())
	}
	return &Reader{proc: proc, events: events, control: control}, nil
}

// pipe makes a pipe. The end that is read can have deadlines.
func pipe() (r, w *os.File, err error) {
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("make a pipe to a witness: %w", err)
	}
	if err := unix.SetNonblock(fd[0], true); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make a pipe to a witness: %w", err), unix.Close(fd[0]), unix.Close(fd[1]))
	}
	return os.NewFile(uintptr(fd[0]), "witness"), os.NewFile(uintptr(fd[1]), "witness"), nil
}

// Each calls take for every event until the witness ends. Its error says that
// the witness did not end by itself and well.
func (w *Reader) Each(take func(Event)) error {
	var told error
	for told == nil {
		var e Event
		if e, told = Read(w.events); told == nil {
			take(e)
		}
	}
	if !errors.Is(told, io.EOF) {
		w.proc.Kill()
	}
	state, err := w.proc.Wait()
	w.events.Close()
	w.control.Close()
	switch {
	case !errors.Is(told, io.EOF):
		return fmt.Errorf("read what the witness tells: %w", told)
	case err != nil:
		return err
	case !state.Success():
		return fmt.Errorf("the witness ended with %s", state)
	}
	return nil
}

// Finish lets the witness read what is left and end, in a bounded time.
func (w *Reader) Finish() {
	w.control.Close()
	w.Hurry()
}

// Hurry bounds how long the witness may take from now on.
func (w *Reader) Hurry() {
	w.events.SetReadDeadline(time.Now().Add(finishTime)) // it is a pipe that can have one
}
