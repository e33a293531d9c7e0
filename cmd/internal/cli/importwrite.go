package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sbxcron/sbxcron/cmd/internal/crontab"
	"github.com/sbxcron/sbxcron/jobspec"
)

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
func (a *App) printImported(o importOptions, digest jobspec.Digest, table *crontab.Table, items []importItem) error {
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
		a.say("or all of them with one signature session: sbxcron plan -f %s --out FILE", shellWord(o.out))
		a.say("the crontab that was read has digest %s", digest)
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
