// Package stub emits the program that stands between the sandbox and the
// payload: a few hundred bytes of machine code, without a runtime, that walk a
// table of system calls and their expected results.
//
// The program is one fixed file for each architecture (Emit); all that differs
// between runs is the table (Table), which the program reads from an inherited
// file and which prints as text (Dump). A row whose result is not the expected
// one ends the program with status 125 before anything of the job has run, and
// says which row it was. So setting up and measuring are the same thing: a layer
// that is not in force is a row that does not hold.
//
// It refuses to go on after anything unexpected: a table that is missing, short
// or empty is a row of kind zero, which never holds. It decides nothing and
// knows nothing of jobs.
//
// Only packages of the runner import it. It imports the standard library only.
package stub
