// Command sbxcron-escape makes the attempts of package runner/escape. It runs as
// an ordinary job, in the sandbox that it tries to leave: "sbxcron doctor
// --escape" starts it and judges. This file wires and does nothing else.
package main

import (
	"os"

	"github.com/sbxcron/sbxcron/cmd/sbxcron-escape/internal/attempt"
)

func main() { os.Exit(attempt.Main(os.Args)) }
