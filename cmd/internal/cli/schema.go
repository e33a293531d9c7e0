package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
)

func newSchema(a *App) *cobra.Command {
	return &cobra.Command{
		Use:       "schema job|policy",
		Short:     "Print the JSON Schema of job.toml or policy.toml, for editors",
		ValidArgs: []string{"job", "policy"},
		Args:      cobra.ExactArgs(1),
		RunE:      work(func(_ context.Context, args []string) error { return a.schema(args[0]) }),
	}
}

// schema prints the same with and without --json: a schema is JSON already.
func (a *App) schema(of string) error {
	var text []byte
	switch of {
	case "job":
		text = jobtoml.SchemaJob()
	case "policy":
		text = jobtoml.SchemaPolicy()
	default:
		return usageError("schema %q: want job or policy", of)
	}
	if _, err := a.UI.Out.Write(text); err != nil {
		return fmt.Errorf("write schema: %w", err)
	}
	return nil
}
