// Package shim is the stand-in for programs that ask a person or change rights:
// one small shell script, known by many names. It notes the attempt and ends at
// once with the status of a "no". It holds no secret and grants nothing; what
// keeps a job from more rights is the sandbox, with or without it.
//
// The package holds the table of names, the script that is made from it, the
// form in which the script tells what was tried, and a parser of that form. The
// parser reads what a job may have written: only a process with the job's own
// rights uses it. Only packages below runner import this one.
package shim
