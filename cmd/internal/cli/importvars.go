package cli

import (
	"fmt"
	"slices"

	"github.com/sbxcron/sbxcron/cmd/internal/crontab"
	"github.com/sbxcron/sbxcron/jobspec"
)

// cronds are the variables that speak to crond and not to the command. LOGNAME is
// here because crond itself lets nobody change it.
var cronds = []string{"SHELL", "CRON_TZ", "LOGNAME", "MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING", "RANDOM_DELAY"}

func isCronds(name string) bool { return slices.Contains(cronds, name) }

// lost says why a setting is not taken over, "" where it is or where nothing is
// lost with it.
func lost(s crontab.Setting) (code, detail, hint string) {
	const later, forbidden = string(jobspec.CodeSpecFieldLater), string(jobspec.CodeEnvForbidden)
	switch {
	case s.Name == "MAILTO" && s.Value != "":
		return string(jobspec.CodeNoticeConfig), fmt.Sprintf("no job says who is written to: MAILTO is %q", s.Value),
			"write the address into a channel of notify.toml; sbxcron notify test tries it"
	case s.Name == "RANDOM_DELAY" && s.Value != "" && s.Value != "0":
		return later, "jitter is refused for now", "spread the jobs over the minutes by hand"
	case isCronds(s.Name):
		return "", "", ""
	case s.Name == "HOME":
		return forbidden, "HOME is a folder of each run's own", fmt.Sprintf("crond starts there, too: write cwd = %q into the files of jobs that need it", s.Value)
	case s.Name == "PATH":
		return forbidden, "PATH is fixed: /usr/local/bin, /usr/bin and /bin", "write the whole path of programs that lie elsewhere"
	case s.Name == "USER":
		return forbidden, "USER is the account that the job runs as", "leave the line out"
	case jobspec.EnvForbidden(s.Name, s.Value):
		return forbidden, fmt.Sprintf("no job sets the variable %q", s.Name), jobspec.CodeEnvForbidden.Remedy()
	}
	return "", "", ""
}
