package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/crontab"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

type importOptions struct {
	system   bool
	out      string
	timezone string
}

func newImportCrontab(a *App) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import-crontab FILE|-",
		Short: "Write a job.toml for each line of a crontab, to be reviewed and added",
		Long:  importText,
		Args:  cobra.ExactArgs(1),
		RunE:  work(func(_ context.Context, args []string) error { return a.importCrontab(o, args[0]) }),
	}
	f := cmd.Flags()
	f.BoolVar(&o.system, "system", false, "the form of /etc/crontab and /etc/cron.d, with an account before the command")
	f.StringVar(&o.out, "out", "", "folder to make and to write the files into; it must not exist")
	f.StringVar(&o.timezone, "timezone", "", "IANA name of the zone of lines without a CRON_TZ; default: the machine's")
	return cmd
}

const importText = `Read a crontab and write each of its lines as a job.toml into a new folder: all
files or, where one cannot be written, none. Nothing is signed, added or run, and
crond's own table stays as it is. Each file names the line that it was made from and
what was different under crond; read it, correct it, and add it with add -f.

A command that needs no shell becomes a command, any other one an embedded [script]
with the SHELL that is in force at its line; "cd /DIR && COMMAND" becomes a cwd. What
stands behind the first % becomes stdin. CRON_TZ gives the timezone; a TZ changes what
the command sees and not when it runs, as with crond.

What cannot be taken over is listed by its line, with a hint: @reboot, six fields,
lines of root, a schedule that is not one, variables that no job sets (PATH, HOME,
LD_PRELOAD and others), and MAILTO, since notices are not built yet.

Exit: 0 when everything was taken over, 3 when something is listed, 65 when no line
of the text is one of a crontab, 5 when the folder exists.`

// importItem is what became of a line: a file, or a code and a hint.
type importItem struct {
	Line   int          `json:"line"`
	Name   jobspec.Name `json:"name"`
	File   string       `json:"file"`
	Code   string       `json:"code"`
	Detail string       `json:"detail"`
	Hint   string       `json:"hint"`
	Notes  []string     `json:"notes"`

	draft *jobspec.Draft
	text  []byte // of the file
}

func (i importItem) written() bool { return i.Code == "" }

// importCrontab needs no installation. The text is read once; its digest stands in
// each file, so that a reviewer can tell which crontab it was.
func (a *App) importCrontab(o importOptions, file string) error {
	if o.out == "" {
		return usageError("--out DIR: say which folder is to be made")
	}
	o.out = filepath.Clean(o.out)
	if isThere(o.out) {
		return folderExists(o.out)
	}
	if o.timezone == "" {
		o.timezone = a.Ports.Zone()
	} else if _, err := calendar.Location(o.timezone); err != nil {
		return err
	}
	raw, err := a.readCrontab(file)
	if err != nil {
		return err
	}
	table, err := crontab.Read(raw, o.system)
	if err != nil {
		return fileError(fmt.Errorf("read %q: %w", file, err), "split it into smaller crontabs")
	}
	items := newImporter(o, raw).items(table)
	if nothingReadable(items) {
		return fileError(fmt.Errorf("read %q: no line of it is one of a crontab", file), "name a crontab, such as the output of crontab -l; one with accounts needs --system")
	}
	if err := writeImported(o.out, items); err != nil {
		return err
	}
	return a.printImported(o, table, items)
}

func (a *App) readCrontab(file string) ([]byte, error) {
	if file != "-" {
		return readFile(file, crontab.MaxBytes)
	}
	raw, err := io.ReadAll(io.LimitReader(a.UI.In, crontab.MaxBytes+1))
	if err != nil {
		return nil, fileError(fmt.Errorf("read standard input: %w", err), "give the crontab on standard input")
	}
	return raw, nil
}

// nothingReadable: neither an entry nor a line that is told from one.
func nothingReadable(items []importItem) bool {
	return !slices.ContainsFunc(items, func(i importItem) bool {
		return i.Code != crontab.CodeNotALine && i.Code != crontab.CodeNotText && i.Code != string(jobspec.CodeScheduleInvalid)
	})
}

func folderExists(dir string) error {
	return ownError(codeFileProblem, jobspec.ClassConflict, "name a folder that does not exist yet: nothing is ever overwritten", "--out %q exists", dir)
}

// writeImported makes the folder with all files or not at all: they are written
// beside it and appear under its name at once. They are for the caller alone, as a
// crontab is, since commands hold passwords more often than they should.
func writeImported(dir string, items []importItem) error {
	if !slices.ContainsFunc(items, importItem.written) {
		return nil
	}
	const hint = "name a folder below one that you may write to"
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".sbxcron-import-*")
	if err != nil {
		return fileError(err, hint)
	}
	defer os.RemoveAll(temp) // finds nothing where all went well
	for _, i := range items {
		if !i.written() {
			continue
		}
		if err := writeNew(filepath.Join(temp, filepath.Base(i.File)), i.text, 0o600); err != nil {
			return err
		}
	}
	err = os.Rename(temp, dir)
	switch {
	case err == nil:
		return nil
	case isThere(dir):
		return folderExists(dir)
	}
	return fileError(err, hint)
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// printImported lists what was written, then by line what was not.
func (a *App) printImported(o importOptions, table *crontab.Table, items []importItem) error {
	listed := slices.ContainsFunc(items, func(i importItem) bool { return !i.written() })
	if a.flags.json {
		if err := a.items("import-crontab", items); err != nil {
			return err
		}
	} else if err := a.printImportTable(items); err != nil {
		return err
	}
	for _, n := range table.Notes {
		a.say("note: %s", n)
	}
	if slices.ContainsFunc(items, importItem.written) {
		a.say("nothing is signed; read each file, then: sbxcron add -f %s", shellWord(filepath.Join(o.out, "NAME.toml")))
	}
	if listed {
		return exitStatus(jobspec.ClassProblems.Exit())
	}
	return nil
}

func (a *App) printImportTable(items []importItem) error {
	t := a.UI.Table("LINE", "JOB", "SCHEDULE", "TIMEZONE", "FILE")
	n := 0
	for _, i := range items {
		if i.written() {
			n++
			t.Row(fmt.Sprint(i.Line), string(i.Name), i.draft.Cron, i.draft.Timezone, i.File)
		}
	}
	if n > 0 {
		if _, err := t.WriteTo(a.UI.Out); err != nil {
			return err
		}
	}
	for _, i := range items {
		if !i.written() {
			a.line("line %d: %s: %s", i.Line, i.Code, i.Detail)
			a.line("  hint: %s", i.Hint)
		}
	}
	return nil
}
