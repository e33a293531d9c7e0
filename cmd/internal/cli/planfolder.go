package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// folderOptions are those of plan -f DIR.
type folderOptions struct {
	keyFlags
	dir     string
	out     string
	prune   bool
	dryRun  bool
	answers []string
}

func newPlanFolder(a *App, verbs ...*cobra.Command) *cobra.Command {
	var o folderOptions
	cmd := &cobra.Command{
		Use:   "plan -f DIR --out FILE, or plan ACTION NAME",
		Short: "Write ops to a file, to be signed elsewhere (plan, sign, apply)",
		Long:  planText,
		Args:  cobra.ArbitraryArgs,
		RunE: work(func(ctx context.Context, args []string) error {
			switch {
			case len(args) > 0:
				return unknownCommand("plan " + args[0])
			case o.dir == "":
				return usageError("-f DIR: say which folder of job files, or what to plan: plan add, replace, remove, enable, disable")
			case (o.out == "") != o.dryRun:
				return usageError("give --out FILE for the ops, or --dry-run to see them only")
			}
			return a.planFolder(ctx, o)
		}),
	}
	f := cmd.Flags()
	f.StringVarP(&o.dir, "from", "f", "", "folder with a *.toml file for each job that shall be in force")
	f.StringVar(&o.out, "out", "", "file to write the bytes to that are to be signed")
	f.BoolVar(&o.prune, "prune", false, "remove the jobs of yours that are in force and in no file")
	f.BoolVar(&o.dryRun, "dry-run", false, "show the differences and write nothing; 3 when there are some")
	f.StringVar(&o.key, "key", "", keyUsage)
	f.StringVar(&o.principal, "principal", "", "who will sign, where no key is at hand")
	f.StringArrayVar(&o.answers, "answer", nil, "ASK_ID=allow: answer one ask; may be repeated")
	cmd.AddCommand(verbs...)
	return cmd
}

const planText = `Hold the job files of a folder (each *.toml in it, not those below it) against the
jobs in force, show what differs in words, and write one plan: an add for each job
that is not in force, a replace for each that differs. A job of yours in no file is
named and stays; with --prune the plan removes it. Jobs of others, and disabled ones,
are left alone. What depends on the time of signing alone is no difference; files that
changed since they were bound are one, and so is an approval that has ended.

Then "sbxcron sign FILE" shows every op, asks once and opens the key once, and
"sbxcron apply FILE FILE.sig" puts all of them in force or none.

Exit: 0 when a plan was written or nothing is to be done, 3 with --dry-run when
something is, 65 when a file cannot be read, else as add ends for the first refusal.`

// What a plan does with a job.
const (
	planKeep  = "keep"  // in force as its file says
	planLeave = "leave" // in force, in no file
	planSkip  = "skip"  // disabled
)

// planItem is what becomes of one job.
type planItem struct {
	Job       jobspec.Name    `json:"job"`
	Action    string          `json:"action"` // add, replace, remove, keep, leave, skip
	File      string          `json:"file,omitempty"`
	Revision  int64           `json:"revision,omitempty"`
	Seq       int64           `json:"seq,omitempty"`
	Op        *jobspec.Digest `json:"op,omitempty"`
	Namespace string          `json:"namespace,omitempty"`
	Changes   []string        `json:"changes"` // keys that differ
	Words     []string        `json:"words"`   // of an add its summary, of a replace what differs
	Refused   []api.Reason    `json:"refused"`

	proposal *proposal
	refusal  error
}

// jobFile is a file of the folder, read.
type jobFile struct {
	path, base string
	draft      *jobspec.Draft
}

// readJobFolder reads all files before anything else is done, and names every one
// that is broken.
func readJobFolder(dir string) ([]jobFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fileError(err, "name a folder with a *.toml file for each job")
	}
	var files []jobFile
	var broken []string
	seen := map[jobspec.Name]string{}
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".toml" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		d, base, err := readFolderFile(path)
		if err == nil && seen[d.Name] != "" {
			err = fmt.Errorf("%q: job %q stands in %q, too", path, d.Name, seen[d.Name])
		}
		if err != nil {
			broken = append(broken, err.Error())
			continue
		}
		seen[d.Name] = path
		files = append(files, jobFile{path, base, d})
	}
	switch {
	case len(broken) > 0:
		return nil, fileError(fmt.Errorf("%d broken file(s), nothing was planned: %s", len(broken), strings.Join(broken, "; ")), "mend each of them")
	case len(files) == 0:
		return nil, fileError(fmt.Errorf("no *.toml file lies in %q", dir), "an empty folder is never taken for the wish to remove all jobs; use remove")
	}
	slices.SortFunc(files, func(a, b jobFile) int { return strings.Compare(string(a.draft.Name), string(b.draft.Name)) })
	return files, nil
}

// readFolderFile reads what whoever writes to the folder has put there: a pipe would
// keep it waiting for ever. A link to a file is one.
func readFolderFile(path string) (*jobspec.Draft, string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, "", err
	}
	if !info.Mode().IsRegular() {
		return nil, "", fmt.Errorf("%q is no regular file", path)
	}
	return readJobFile(path)
}

func (a *App) planFolder(ctx context.Context, o folderOptions) error {
	files, err := readJobFolder(o.dir)
	if err != nil {
		return err
	}
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return err
	}
	return a.service(ctx, func(svc api.Service) error {
		who, err := a.knownOwner(site, o.keyFlags)
		if err != nil {
			return err
		}
		at, err := a.findAll(ctx, svc, site)
		if err != nil {
			return err
		}
		f := &folderPlan{App: a, o: o, svc: svc, site: site, who: who, at: at}
		if err := f.make(ctx, files); err != nil {
			return err
		}
		return f.finish()
	})
}
