// Package tamper does to a copy of the evidence what somebody might do to the
// evidence, and tells whether the judge names it. It needs no key of anybody: what a
// thief of keys can do is tried by the tests of package evidence.
//
// Promises. Only files in memory and a folder that is removed are changed. A row
// counts as named only where a verdict fails and a problem stands there that does
// not without the tampering.
//
// Only audit selftest and tests use it.
package tamper
