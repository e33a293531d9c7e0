//go:build unix

package ui

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// tty is the controlling terminal. Standard input may be a file that somebody
// fed in; /dev/tty cannot be redirected.
type tty struct{ f *os.File }

func openTTY() (Terminal, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &tty{f}, nil
}

func (t *tty) Close() error { return t.f.Close() }

// Line reads byte by byte, so that what is typed ahead of the next question
// stays in the terminal.
func (t *tty) Line(prompt string) (string, error) {
	if _, err := io.WriteString(t.f, prompt); err != nil {
		return "", err
	}
	var line []byte
	for one := make([]byte, 1); len(line) < 4096; {
		n, err := t.f.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return string(line), nil
		case n == 1:
			line = append(line, one[0])
		case err != nil:
			return "", err
		}
	}
	return "", fmt.Errorf("line is longer than %d bytes", len(line))
}

func (t *tty) Secret(prompt string) ([]byte, error) {
	if _, err := io.WriteString(t.f, prompt); err != nil {
		return nil, err
	}
	stop := t.restoreOnSignal()
	defer stop()
	secret, err := term.ReadPassword(int(t.f.Fd()))
	fmt.Fprintln(t.f)
	return secret, err
}

// restoreOnSignal gives the terminal its echo back before an interrupt ends the
// process, which term.ReadPassword does not do. stop must be called.
func (t *tty) restoreOnSignal() (stop func()) {
	fd := int(t.f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return func() {}
	}
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer close(done)
		if _, ok := <-signals; ok {
			_ = term.Restore(fd, before) // the process ends either way
			os.Exit(128 + int(syscall.SIGINT))
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-done
	}
}
