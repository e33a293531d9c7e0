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

// Secret switches the echo off before it shows the prompt, so that nothing typed
// ahead is seen. The terminal is raw meanwhile: interrupt is a byte, not a signal.
func (t *tty) Secret(prompt string) ([]byte, error) {
	fd := int(t.f.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	defer term.Restore(fd, before)
	stop := restoreOnSignal(fd, before)
	defer stop()
	if _, err := io.WriteString(t.f, prompt); err != nil {
		return nil, err
	}
	secret, err := readSecret(t.f)
	fmt.Fprint(t.f, "\r\n")
	return secret, err
}

// restoreOnSignal gives the terminal its echo back before a signal from outside
// ends the process. stop must be called.
func restoreOnSignal(fd int, before *term.State) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer close(done)
		if _, ok := <-signals; ok {
			_ = term.Restore(fd, before) // the process ends either way
			os.Exit(128 + int(syscall.SIGTERM))
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-done
	}
}
