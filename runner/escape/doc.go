// Package escape is the list of what jobs may try to get out of their sandbox,
// and the judge of what became of it.
//
// It promises that each attempt is data: what is tried, which layers must stop it
// and which event it leaves. The program that makes the attempts is another one
// (cmd/sbxcron-escape), which runs as an ordinary job; nothing here attempts
// anything. A Stage holds what lies outside and must not change: an attempt is
// judged by what happened there as well as by what the kernel answered.
//
// An attempt whose answer is missing counts as an escape: what was not seen to
// be stopped was not stopped. cmd and runner/runnertest import this package.
package escape
