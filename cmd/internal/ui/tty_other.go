//go:build !unix

package ui

import "errors"

// openTTY refuses: only systems with /dev/tty have a terminal that cannot be
// redirected. Scripts use flags there.
func openTTY() (Terminal, error) { return nil, errors.New("this system has no /dev/tty") }
