package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/jobspec"
)

// newHelp replaces cobra's own help command, which ends with 0 on a topic that
// does not exist.
func newHelp(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND or TOPIC]",
		Short: "Explain a command, or the topics exit-codes, tiers, files",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 || found == nil {
				return commandError{usageError("no help for %q", strings.Join(args, " "))}
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// helpTopics are commands that do nothing; cobra lists them apart.
func helpTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "Exit statuses and what they mean", Long: exitCodesText()},
		{Use: "tiers", Short: "What a job may touch: tiers and net", Long: tiersText},
		{Use: "files", Short: "Where sbxcron keeps what", Long: filesText},
	}
}

// classWords says in words what each class of codes means.
func classWords(c jobspec.Class) string {
	switch c {
	case jobspec.ClassOther:
		return "anything without a status of its own; also: you said no"
	case jobspec.ClassProblems:
		return "problems were found, or something could not be checked"
	case jobspec.ClassNotFound:
		return "no such job or run"
	case jobspec.ClassConflict:
		return "the name exists, the head has moved, or the state does not allow it"
	case jobspec.ClassSignature:
		return "a signature is missing or does not hold"
	case jobspec.ClassSigner:
		return "the key is unknown, revoked, expired or not for this"
	case jobspec.ClassTampered:
		return "chain, pin or signed bytes were changed"
	case jobspec.ClassPolicy:
		return "policy, a ceiling or a command rule says no, or an ask is unanswered"
	case jobspec.ClassSandbox:
		return "no sandbox that can hold the job; nothing runs without one"
	case jobspec.ClassAudit:
		return "audit verify found that something does not verify"
	case jobspec.ClassUsage:
		return "bad command line, or a flag is missing where nobody can be asked"
	case jobspec.ClassData:
		return "a file or spec that was given is malformed"
	case jobspec.ClassUnavailable:
		return "the service is not there"
	case jobspec.ClassBusy:
		return "busy; try again"
	case jobspec.ClassDenied:
		return "you may not do that; run --wait and try: ended 0 or was ended, and something was denied"
	case jobspec.ClassConfig:
		return "configuration or policy file is missing, unsafe or wrong"
	default:
		return ""
	}
}

// runWaitCodes are the statuses that only run --wait and try have.
var runWaitCodes = [...]struct{ status, words string }{
	{"124", "the job ran out of time"},
	{"125", "the job did not start, or nobody saw how it ended; the error says why"},
	{"128+n", "the job was ended by signal n"},
}

func exitCodesText() string {
	var b strings.Builder
	b.WriteString("Exit statuses. A status that is not listed is a failure; statuses may be added.\n\n")
	fmt.Fprintf(&b, "%-6s %-12s %s\n", "0", "ok", "done")
	for _, c := range jobspec.Classes() {
		fmt.Fprintf(&b, "%-6d %-12s %s\n", c.Exit(), c, classWords(c))
	}
	b.WriteString("\nrun --wait and try end with the job's own status, and besides\n\n")
	for _, r := range runWaitCodes {
		fmt.Fprintf(&b, "%-6s %s\n", r.status, r.words)
	}
	b.WriteString("\nWith --json an error is one document on standard error: code, exit, exit_class,\nmessage, hint, job.")
	return b.String()
}

const tiersText = `A tier says how much of the file system a job may change, from least to most:

  scratch     a private, empty work directory that is gone after the run;
              the default without --cwd
  read-only   the folder of --cwd, read-only; the default with --cwd
  workspace   the folder of --cwd, writable

Net says what network it sees:

  none        no network at all; the default
  proxy       named hosts through a proxy; not built yet, refused by name

There is no tier without a sandbox, no mode with direct network access, and no
answer but "no" to a question that a job asks while it runs.`

const filesText = `                 ordinary user                 root
configuration    ~/.config/sbxcron             /etc/sbxcron
state            ~/.local/state/sbxcron        /var/lib/sbxcron
socket           /run/user/UID/sbxcron,        /run/sbxcron
                 else state/run

--root DIR puts all three below DIR, which must belong to the caller.

Configuration holds host (the id of this installation), allowed_signers and
revoked_keys (OpenSSH's formats), policy.toml, policy.d and owner.d (files that
narrow it), pin (the head that was last seen), audit_key and key (which key add
uses). State holds the signed chain, the ledger of what ran, the outputs of runs,
and the state folders of jobs, which lie beside it for root. No job sees any of
it but its own state folder.`
