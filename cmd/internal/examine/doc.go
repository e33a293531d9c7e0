// Package examine gathers the facts that jobspec.Decide judges: it opens the
// paths of a spec with the rights of the account that the job runs as, hashes
// what is bound, looks at the schedule, the policy and the sandbox.
//
// add, explain, run and the trigger all come through here, so none of them can
// look at other facts than the others. What it opens stays open in the
// Examination and is what the sandbox is then built from.
//
// It refuses to open a path of a spec with root's rights, and decides nothing by
// itself. Only packages below cmd may import it.
package examine
