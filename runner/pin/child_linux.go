package pin

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/internal/child"
)

// childName is the argv[0] by which our own program knows that it is the
// opener. Whoever starts it so by hand gets a process that serves descriptor
// childSocket with the rights that he has anyway.
const childName = "sbxcron: pin"

// The child's descriptors beside 0, 1, 2, in the order of exec.Cmd.ExtraFiles.
const (
	childExe    = 3
	childSocket = 4
)

// ChildMain must be the first call of every main, and TestMain, that opens with
// Account.Drop. In the opener's process it never returns; everywhere else it
// returns at once.
func ChildMain() {
	if len(os.Args) != 1 || os.Args[0] != childName {
		return
	}
	if err := serve(); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// serve answers until the parent closes its end.
func serve() error {
	unix.Close(childExe)
	if err := child.Harden("opener"); err != nil {
		return err
	}
	buf := make([]byte, maxMessage)
	for {
		n, err := unix.Read(childSocket, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return err
		}
		var q question
		if err := json.Unmarshal(buf[:n], &q); err != nil {
			return err
		}
		if err := q.answer(); err != nil {
			return err
		}
	}
}

func (q question) answer() error {
	if q.Search != nil {
		found, t := q.Search.find()
		return send(childSocket, answer{Trouble: t, Found: found}, nil)
	}
	table, err := readMounts()
	if err != nil {
		return err
	}
	p := openPath(context.Background(), q.Request, table, q.Room, Options{})
	defer p.close()
	a, files := p.pack()
	return send(childSocket, a, files)
}
