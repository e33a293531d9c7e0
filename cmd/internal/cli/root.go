package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// newRoot makes the command tree. Completion is not offered, errors are printed
// by exit.go, and a flag that does not exist is an error of usage.
func newRoot(a *App) *cobra.Command {
	root := &cobra.Command{
		Use:           "sbxcron",
		Short:         "Run jobs that their owner signed, in a sandbox, on their schedule",
		Long:          rootText,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(args[0])
			}
			return cmd.Help()
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	f := root.PersistentFlags()
	f.StringVar(&a.flags.root, "root", "", "folder that holds configuration, state and socket of a separate installation")
	f.BoolVar(&a.flags.json, "json", false, "print one JSON document; errors too, on standard error")
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "print no notes on standard error; what is about to be signed is shown all the same")
	root.AddCommand(ownerCommands(a)...)
	root.AddCommand(readingCommands(a)...)
	root.AddCommand(operatorCommands(a)...)
	root.AddCommand(otherCommands(a)...)
	root.SetHelpCommand(newHelp(a))
	root.AddCommand(helpTopics()...)
	return root
}

const rootText = `sbxcron runs jobs while nobody is there.

An owner approves a job once and signs it. The service verifies the signature at
every trigger and runs the job in a sandbox that cannot be switched off; a
question or a request for more rights gets "no" at once, and the "no" is kept.
An auditor proves later what ran.`

func ownerCommands(a *App) []*cobra.Command {
	return []*cobra.Command{newInit(a), newAdd(a), newReplace(a), newRebind(a), newRenew(a), newRemove(a), newEnable(a), newDisable(a),
		newPlan(a), newSign(a), newApply(a), newImportCrontab(a)}
}

func readingCommands(a *App) []*cobra.Command {
	return []*cobra.Command{newList(a), newShow(a), newNext(a), newExplain(a), newHistory(a), newLogs(a), newStatus(a)}
}

func operatorCommands(a *App) []*cobra.Command {
	return []*cobra.Command{newRun(a), newTry(a), newCancel(a), newHold(a), newRelease(a)}
}

func otherCommands(a *App) []*cobra.Command {
	return []*cobra.Command{newAudit(a), newTrust(a), newPolicy(a), newBackend(a), newStore(a), newNotify(a), newDoctor(a), newSchema(a), newDaemon(a), newVersion(a)}
}

// work marks the errors of a command as its own.
func work(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := run(cmd.Context(), args); err != nil {
			return commandError{err}
		}
		return nil
	}
}

// group is a noun that holds verbs and does nothing by itself.
func group(use, short string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(use + " " + args[0])
			}
			return commandError{usageError("%q needs a command after it", use)}
		}}
	cmd.AddCommand(verbs...)
	return cmd
}

func unknownCommand(name string) error {
	return commandError{usageError("unknown command %q", name)}
}

// service runs f with the service of this installation.
func (a *App) service(ctx context.Context, f func(api.Service) error) error {
	svc, err := a.Ports.Service(ctx, a.flags.root)
	if err != nil {
		return err
	}
	defer svc.Close()
	return f(svc)
}

// jobArg is the command's one argument, a job's name.
func jobArg(args []string) (jobspec.Name, error) {
	name, err := jobspec.ParseName(args[0])
	if err != nil {
		return "", usageError("%s", err)
	}
	return name, nil
}
