//go:build !linux

package attempt

import (
	"fmt"
	"os"
)

// Main refuses: jobs run on linux only.
func Main([]string) int {
	fmt.Fprintln(os.Stderr, "attempts are made on linux only")
	return 78
}
