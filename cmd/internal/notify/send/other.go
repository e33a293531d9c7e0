//go:build !linux

package send

import (
	"errors"
	"io"
)

// The modes of the sender, which runs on Linux only.
const (
	modeNetwork = "network"
	modeProgram = "program"
)

// ChildMain does nothing: the service runs on Linux only.
func ChildMain() {}

func start(string, Account) (*process, io.ReadCloser, error) {
	return nil, nil, errors.New("start a sender: this system has none")
}
