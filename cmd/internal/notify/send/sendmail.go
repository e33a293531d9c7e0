package send

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"
)

// exTempfail is the status of sysexits(3) that asks for another attempt.
const exTempfail = 75

// bySendmail gives the message to a program on its standard input. It is started
// by its absolute path with the arguments of notify.toml and no others, and never
// by a shell.
func bySendmail(ctx context.Context, t Task) Result {
	cmd := exec.CommandContext(ctx, t.Channel.Command[0], t.Channel.Command[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(message(t), "\r\n", "\n"))
	said := &head{}
	cmd.Stdout, cmd.Stderr = said, said
	ownGroup(cmd)
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay): // with status 0; what it left behind delivers later
		return result(Delivered, "status 0 %s", said.String())
	case ctx.Err() != nil:
		return result(Delayed, "it did not end within %s", attemptTime)
	case errors.As(err, &ended) && ended.ExitCode() > exTempfail-12 && ended.ExitCode() < 79 && ended.ExitCode() != exTempfail:
		return result(Refused, "status %d %s", ended.ExitCode(), said.String())
	case errors.As(err, &ended):
		return result(Delayed, "%s %s", ended.ProcessState, said.String())
	}
	return result(Delayed, "%v", err)
}

// head keeps the beginning of what a program says.
type head struct{ text []byte }

func (h *head) Write(b []byte) (int, error) {
	h.text = append(h.text, b[:min(len(b), MaxSaid-len(h.text))]...)
	return len(b), nil
}

func (h *head) String() string { return strings.TrimSpace(string(h.text)) }
