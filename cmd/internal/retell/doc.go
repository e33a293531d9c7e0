// Package retell tells anew what is remembered, for people and for the
// programs of people: the lines of the ledger as JSON lines and as CSV, and a report
// of a span of time.
//
// Promises. JSON lines are the leaves, byte for byte, so that hashing them needs no
// encoder. CSV and reports say of themselves that they prove nothing: they name the
// leaves that do. Whatever stands in a line is text to a spreadsheet, a terminal and
// a browser: it is escaped, and no cell of it is a formula.
//
// Refusals. Nothing is written, signed or judged here; damage of the ledger is an
// error behind what could be read, never an end.
package retell
