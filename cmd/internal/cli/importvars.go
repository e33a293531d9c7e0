package cli

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/crontab"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// cronds are the variables that speak to crond and not to the command. LOGNAME is
// here because crond itself lets nobody change it.
var cronds = []string{"SHELL", "CRON_TZ", "LOGNAME", "MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING", "RANDOM_DELAY"}

func isCronds(name string) bool { return slices.Contains(cronds, name) }

// lost says why a setting is not taken over, "" where it is or where nothing is
// lost with it.
func lost(s crontab.Setting) (code, detail, hint string) {
	const forbidden = string(jobspec.CodeEnvForbidden)
	switch {
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

// mail is what MAILTO becomes: events that somebody is told of. crond mails what a
// job prints to the address; here the operator's channels know the addresses.
func mail(d *jobspec.Draft, e crontab.Entry) ([]string, *crontab.Problem) {
	to := e.Var("MAILTO")
	if to == "" {
		return nil, nil
	}
	for _, event := range []jobspec.Event{jobspec.EventFailed, jobspec.EventDenied, jobspec.EventRefused, jobspec.EventMissed, jobspec.EventRecovered} {
		d.Notify = append(d.Notify, string(event))
	}
	return []string{fmt.Sprintf("MAILTO is %q: crond mails what is printed there; a channel of CONF/notify.toml must name it to get the events of notify", to)}, nil
}

// delay is what RANDOM_DELAY becomes: a jitter of as many minutes, which is the same
// at each start.
func delay(d *jobspec.Draft, c *calendar.Calendar, minutes string) []string {
	if minutes == "" || minutes == "0" {
		return nil
	}
	n, err := strconv.ParseUint(minutes, 10, 16)
	jitter := time.Duration(n) * time.Minute
	if err == nil {
		err = c.CheckJitter(jobspec.Schedule{JitterSeconds: int64(jitter / time.Second)})
	}
	if err != nil {
		return []string{fmt.Sprintf("RANDOM_DELAY is %q, which cannot be its jitter, and was left out", minutes)}
	}
	d.Jitter = jitter
	return []string{"RANDOM_DELAY became jitter, which is the same at each start"}
}
