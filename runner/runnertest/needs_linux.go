package runnertest

import (
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
)

// needs says which capability a case is about, where a backend may be without it:
// the case is then skipped by name, and not passed. A case that is not here must
// hold for every backend. A backend without a capability has tests of its own for
// what it promises in place of these.
func needs() map[string]string {
	all := map[string]string{}
	for capability, names := range map[string][]string{
		"mounts": {
			attemptsOf(jobspec.Scratch),
			attemptsOf(jobspec.ReadOnly),
			attemptsOf(jobspec.Workspace),
			"environment is exactly the declared one",
			"uid is the planned one and not 0",
			"accounts and names of the host are not visible",
			"home and tmp are private, empty and bounded",
			"facts name the measured layers",
			"tier scratch writes into its own empty directory only",
			"read and write paths open exactly those",
			"deny hides directories and files, and a longer path wins",
			"protected names can be neither changed nor moved",
			"a bound file appears at its target with the approved bytes",
			"a live folder appears at its target and cannot be changed",
			"a writable bind changes the host, but not its protected names",
			"a new protected name in a writable bind is a denial",
			"the state folder survives runs, and nothing beside it is seen",
			"fs.git commit lets git commit and keeps hooks and config",
			"fs.git commit reports names in .git that were missing",
			"fs.git commit refuses a .git that is a file",
			"a bound file inside a workspace cannot be changed by the job",
			"dirname of a script shows its neighbours",
			"a bound file that is sourced under renames is the approved one",
			"a script that opens itself under renames gets its own bytes",
			"a bound file behind a link is the approved one",
			"a bound name is found through procfs",
			"a bound tool whose name was moved is not executed, and told",
			"a bound tool is executed",
			"a bound name looks like a file that only root changes",
			"a bound script is not executed when its interpreter was moved",
			"a bound script is not executed when the link to its interpreter was moved",
			"other bytes are not executed through a descriptor of the place",
			"a bound file is the approved one behind a folder that became a link",
			"a bound file is the approved one from a folder that was moved",
			"a shell script sees its own name",
			"a shell script with an option sees its own name",
			"a bash script sees its own name",
			"a python script sees its own name",
			"a python script with an option sees its own name",
			"a perl script sees its own name",
			"a node script sees its own name",
			"a script that a script interprets gets all arguments",
			"a program of the table is covered at its real path",
			"the pipe for events cannot be read",
			"a link of another name to a program of the table is told",
			"a flood of attempts is counted and harms nobody",
			"credentials are readable in each form and cannot be changed",
			"a credential is in no output, in whatever form it is printed",
			"a value that a kill cuts off is in no output",
			"a credential is in no denial",
			"an agent's result is read with its credentials masked",
			"a credential is in no process and no file outside of its sandbox",
			"a job without the credential does not see it",
			"git's store and ssh's key are credentials in HOME",
			"a full private place ends its job with the code of that",
			"a private place that was full for a moment ends nothing",
			"a job that ends with a private place full is no success",
			"limits at their default run anywhere, and the record says how they are held",
		},
		"listener": {
			"there is no terminal",
			"sockets of the host cannot be reached",
			"P01 a set-id program gains nothing",
			"what the kernel refuses is told, each with what was wanted",
			"a program that only the kernel sees makes its run denied",
			"a flood of refused calls is counted and harms nobody",
			"refused calls without an end are ended",
			"many different refused calls keep the record small",
		},
		"growth": {
			"files of a workspace are counted",
			"growth is found in a job that was faster than the watcher",
			"a folder that cannot be read is no way around a limit of growth",
		},
		"leftovers": {
			"a set-id file that appears loses its bits and holds the job",
			"a new hook in a repository below the folder is told of",
		},
		"pidns": {
			"other processes are not visible",
			"P10 a job that kills its init and everything ends by itself",
		},
		runner.FreshProc: {
			"P28 no cgroup but its own is visible",
			"R12 a crash starts no handler of the host",
		},
	} {
		for _, name := range names {
			all[name] = capability
		}
	}
	return all
}
