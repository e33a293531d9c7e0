package main

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// flood makes the same refused call many times.
func flood(count string) {
	for range number(count) {
		unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, 0, 0)
	}
}

// targets makes as many refused calls, each with a target of its own.
func targets(count string) {
	for i := range number(count) {
		unix.Mount("none", fmt.Sprintf("/tmp/target%d", i), "tmpfs", 0, "")
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}
