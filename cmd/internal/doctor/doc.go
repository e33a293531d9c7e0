// Package doctor says what would keep jobs from running, and what to do.
//
// Each check is a value: a name that scripts may count on, a verdict, what was
// found and one remedy. Gathering facts and judging them are apart, so that what
// is said of a machine can be tested without that machine.
//
// It promises that no remedy weakens anything: none says to switch off the
// sandbox or to loosen a file's mode. It changes nothing by itself. Only
// packages below cmd may import it.
package doctor
