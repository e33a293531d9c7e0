// Package evidence judges what an auditor was given: ops with their signatures,
// the trust files that were ever in force, the ledger and its checkpoints. It needs
// no service, no network and no lock, and runs on every platform.
//
// Promises. Four verdicts, each pass only where something was checked and nothing
// spoke against it: authentic (who signed), intact (whether bytes were changed),
// complete (whether something is missing) and runs (whether the lines are those
// that checkpoints vouch for). Each problem names the op, leaf or file. Nothing is
// authentic by itself: without an anchor that the auditor brings the verdict is
// not_checked, so a bundle that is consistent and was made with other keys never
// passes.
//
// Refusals. What is no bundle is an error; a file in it that cannot be read as what
// its name says is a problem of the verdict.
//
// The forms are those of docs/ledger-format.md.
package evidence
