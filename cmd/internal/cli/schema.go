package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
)

func newSchema(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "schema job|policy|notify|config",
		Short: "Print the JSON Schema of job.toml, policy.toml or notify.toml, or of the service's settings",
		Long: `Print a JSON Schema, for editors: of job.toml, of policy.toml and the files beside it,
or of notify.toml. Beside these the service has no configuration file: "schema config" describes its flags,
which are all the settings that there are.`,
		ValidArgs: []string{"job", "policy", "notify", "config"},
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
	case "notify":
		text = jobtoml.SchemaNotify()
	case "config":
		text = schemaConfig(newDaemon(a))
	default:
		return usageError("schema %q: want job, policy, notify or config", of)
	}
	if _, err := a.UI.Out.Write(text); err != nil {
		return fmt.Errorf("write schema: %w", err)
	}
	return nil
}

// schemaConfig describes the flags of a command, made from the flags themselves.
func schemaConfig(cmd *cobra.Command) []byte {
	flags := map[string]any{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		s := map[string]any{"description": f.Usage, "default": f.DefValue, "type": "string"}
		switch kind := f.Value.Type(); {
		case strings.HasPrefix(kind, "int"):
			s["type"], s["default"] = "integer", json.Number(f.DefValue)
		case kind == "bool":
			s["type"], s["default"] = "boolean", f.DefValue == "true"
		case kind == "duration":
			s["format"] = "go-duration"
		}
		flags["--"+f.Name] = s
	})
	b, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "flags of sbxcron " + cmd.Name(),
		"description": "There is no configuration file, and no variable of the environment sets any of these.",
		"type":        "object", "additionalProperties": false, "properties": flags,
	}, "", "  ")
	if err != nil {
		panic(err) // maps, numbers and strings only: cannot happen
	}
	return append(b, '\n')
}
