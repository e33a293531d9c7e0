// Package e2e holds the tests that drive the whole program: the command line,
// the service, the real sandbox, real files, real ssh-keygen.
//
// The tests run their own binary again, whose main is that of sbxcron but for
// the clock and for the steps at which a crash can be asked for. The shipped
// program has neither. Nothing may import this package.
package e2e
