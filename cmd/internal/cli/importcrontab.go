package cli

import (
	"context"
	"fmt"
	"io"
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

MAILTO gives notify its events; who is told is said in CONF/notify.toml. RANDOM_DELAY
becomes jitter. What cannot be taken over is listed by its line, with a hint: @reboot,
six fields, lines of root, a schedule that is not one, and variables that no job sets
(PATH, HOME, LD_PRELOAD and others). "plan -f DIR" makes one plan of the whole folder.

Exit: 0 when everything was taken over, 3 when something is listed, 65 when no line
of the text is one of a crontab or it has accounts without --system, 5 when the folder
exists.`

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
	if line := otherForm(o, table); line > 0 {
		return fileError(fmt.Errorf("read %q: line %d names an account, as in the form of /etc/crontab", file, line), "read it with --system")
	}
	items := newImporter(o, raw).items(table)
	if nothingReadable(items) {
		return fileError(fmt.Errorf("read %q: no line of it is one of a crontab", file), "name a crontab, such as the output of crontab -l; one with accounts needs --system")
	}
	if err := writeImported(o.out, items); err != nil {
		return err
	}
	return a.printImported(o, jobspec.DigestOf(raw), table, items)
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

// otherForm is the first line that shows a user's crontab to be in the system form,
// 0 for none. Then no line of it is read, since accounts would be taken for programs.
func otherForm(o importOptions, table *crontab.Table) int {
	for _, p := range table.Problems {
		if p.Code == crontab.CodeUserField && !o.system {
			return p.Line
		}
	}
	return 0
}

// nothingReadable: neither an entry nor a line that is told from one.
func nothingReadable(items []importItem) bool {
	return !slices.ContainsFunc(items, func(i importItem) bool {
		return i.Code != crontab.CodeNotALine && i.Code != crontab.CodeNotText && i.Code != string(jobspec.CodeScheduleInvalid)
	})
}
