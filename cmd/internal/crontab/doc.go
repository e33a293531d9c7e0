// Package crontab reads a crontab line by line, as crond does: which variables
// are in force at which line, when the line is due, under which account, what is
// run, and what stands behind a "%" for its standard input.
//
// It promises that every line of the text is either blank, a comment, a setting,
// an entry, or a problem with the number of its line. It runs nothing, looks at
// nothing on the machine, and does not judge a schedule: the five fields are
// handed on as they were written.
//
// It refuses, each with a code and a hint, what has no meaning here (@reboot), what
// is likely meant otherwise (six fields, a line of the system form in a user's
// crontab and the other way round), control characters, and a text that is too
// large.
//
// It imports the standard library only; cmd/internal/cli imports it.
package crontab
