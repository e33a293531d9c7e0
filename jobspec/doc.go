// Package jobspec says what a job is and decides whether it may run.
//
// It holds the spec and the op that an owner signs, the tiers, the policy and
// its meet, the rules for commands, and Decide, the one pure function that add,
// explain, run, the trigger and replay all call.
//
// It promises that zero values deny: no tier, no net, no code, no answer and no
// decision permits anything. It refuses every byte that its own encoder would
// not have written, every field that it does not know and, by name, every field
// whose work is not built yet.
//
// It knows neither keys nor files: who signed reaches it as a
// statement.Statement, what lies on the disk as observations. Every room may
// import it. It imports the standard library and signing/statement; TOML lives
// in jobspec/jobtoml.
package jobspec
