package shim

import (
	"fmt"
	"strings"
	"sync"
)

// Bounds of what one attempt tells. All of it must fit into one write that the
// kernel does not split (PIPE_BUF, 4096 bytes): two attempts at once must not mix.
const (
	MaxArgs     = 16
	MaxArgBytes = 200
)

// moreArgs stands for the arguments that there was no room for: without it a
// longer command would read as a shorter one that an owner may expect.
const moreArgs = "..."

// Marks of an attempt. An argument with such a text ends or begins an attempt
// early, which harms nobody but the job's own record.
const (
	markBegin = "sbxcron-attempt"
	markEnd   = "sbxcron-attempt-end"
)

// Script is the program. It finds its wish by the name that it was called by,
// tells what was tried through the pipe at channel, and ends. The shell's own
// printf writes the fields with zero bytes between them, and cuts each to
// MaxArgBytes; LC_ALL makes it count bytes. It opens the pipe for appending
// because only that needs no more than the right to write. What it writes begins
// with a zero byte: bytes without an end that somebody left in the pipe are then
// a field of their own and hide nothing.
//
// covers is the program that the script lies over: whoever calls it by a link of
// another name meant that one. It is "" for the script that stands for all.
func Script(channel, covers string) []byte {
	before, after := same()
	var b strings.Builder
	b.WriteString(before)
	if t, ok := tool(covers); ok {
		fmt.Fprintf(&b, "*) code=%s status=%d ;;\n", t.Code, t.Exit)
	}
	b.WriteString(after)
	b.WriteString(channel + ending)
	return []byte(b.String())
}

// ending is what follows the channel.
const ending = `
echo "sbxcron: $name: a job cannot ask and cannot gain rights (${code:-refused})" >&2
exit $status
`

// same is what all scripts have in common, before and after what one covers. It is
// put together once: each run has a script for each program that it covers.
var same = sync.OnceValues(func() (before, after string) {
	var b strings.Builder
	b.WriteString(`#!/bin/sh
# Stands in for programs that ask a person or change rights. Nobody is there to
# answer, and nothing in a job grants rights: the attempt is noted and refused.
name=${0##*/} code= status=126
case $name in
`)
	for _, t := range Tools() {
		patterns := make([]string, len(t.Names))
		for i, n := range t.Names {
			patterns[i] = n
			if strings.HasSuffix(n, "-") {
				patterns[i] = n + "*"
			}
		}
		fmt.Fprintf(&b, "%s) code=%s status=%d ;;\n", strings.Join(patterns, "|"), t.Code, t.Exit)
	}
	args := make([]string, MaxArgs)
	for i := range args {
		args[i] = fmt.Sprintf(`"${%d}"`, i+1)
	}
	args[MaxArgs-1] = moreArgs
	return b.String(), fmt.Sprintf(`esac
LC_ALL=C
[ $# -le %d ] || set -- %s
[ -z "$code" ] || printf '%%.%ds\0' '' %s "$code" "$name" "$@" %s 2>/dev/null >>`, MaxArgs, strings.Join(args, " "), MaxArgBytes, markBegin, markEnd)
})
