package cli

import (
	"context"
	"encoding/json"
	"io"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/ui"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

type logsOptions struct {
	stream string
	follow bool
}

// followEvery is how often -f looks for more.
const followEvery = 300 * time.Millisecond

func newLogs(a *App) *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:   "logs RUN",
		Short: "Print what a run wrote: the bytes to a pipe, escaped on a terminal",
		Long: `Print what a run wrote. Without --stream both streams are printed, first out, then
err, and then those of further attempts. Instead of a run a job's name may be given; its newest run is taken.

To a pipe or file go the very bytes that were kept. On a terminal control
characters are escaped, so that no output can drive it.`,
		Args: cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) error { return a.logs(ctx, o, args) }),
	}
	cmd.Flags().StringVar(&o.stream, "stream", "", "only this stream: out or err, or out.2 of a second attempt")
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on until the run has ended; needs --stream")
	return cmd
}

func (a *App) logs(ctx context.Context, o logsOptions, args []string) error {
	streams := []string{"out", "err"}
	switch o.stream {
	case "":
		if o.follow {
			return usageError("-f follows one stream; add --stream out or --stream err")
		}
	default:
		if !record.IsStream(o.stream) {
			return usageError("--stream %q: want out or err, or out.2 of a second attempt", o.stream)
		}
		streams = []string{o.stream}
	}
	return a.service(ctx, func(svc api.Service) error {
		run, err := findRun(ctx, svc, args)
		if err != nil {
			return err
		}
		r, err := svc.Run(ctx, run, false)
		if err == nil && r.Outcome != "" && !started(r) {
			a.say("run %s did not start (%s %s): it wrote nothing", run, r.Outcome, why(r))
		}
		for n := 2; o.stream == "" && n <= len(r.Attempts); n++ {
			streams = append(streams, record.AttemptStream("out", n), record.AttemptStream("err", n))
		}
		for _, s := range streams {
			if err := a.copyStream(ctx, svc, run, s, o.follow); err != nil {
				return err
			}
		}
		return nil
	})
}

// findRun takes a run's id, or a job's name for its newest run that started.
func findRun(ctx context.Context, svc api.Service, args []string) (string, error) {
	if isRunID(args[0]) {
		return args[0], nil
	}
	name, err := jobArg(args)
	if err != nil {
		return "", err
	}
	runs, err := svc.History(ctx, api.HistoryQuery{Job: name, Limit: 200})
	if err != nil {
		return "", err
	}
	for _, r := range runs {
		if r.Run != "" && started(r) {
			return r.Run, nil
		}
	}
	if len(runs) == 0 {
		if err := knownJob(ctx, svc, name); err != nil {
			return "", err
		}
	}
	return "", ownError(jobspec.CodeRunUnknown, jobspec.ClassNotFound, "sbxcron history "+string(name)+" says what became of its slots",
		"job %q has no run that started", name)
}

// copyStream prints one stream, with follow until the run has ended.
func (a *App) copyStream(ctx context.Context, svc api.Service, run, stream string, follow bool) error {
	sink := a.logSink(stream)
	for offset := int64(0); ; {
		// Asked before reading: what was written before the end is read after it.
		r, err := svc.Run(ctx, run, false)
		if err != nil {
			return err
		}
		n, err := copyFrom(ctx, svc, r, stream, offset, sink)
		offset += n
		switch {
		case err != nil:
			return err
		case !follow || r.Outcome != api.Running:
			return sink.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followEvery):
		}
	}
}

// silent reports whether a run has written nothing to a stream: then there is no
// file, which is no loss.
func silent(r api.Run, stream string) bool {
	for _, o := range r.Outputs {
		if o.Stream == stream {
			return o.Bytes == 0
		}
	}
	return true
}

func copyFrom(ctx context.Context, svc api.Service, r api.Run, stream string, offset int64, to io.Writer) (int64, error) {
	rc, err := svc.Output(ctx, r.Run, stream, offset)
	if err != nil && silent(r, stream) && api.Wrap(err).ErrCode == jobspec.CodeOutputPruned {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer rc.Close()
	return io.Copy(to, rc)
}

// logSink is where the bytes of a stream go.
func (a *App) logSink(stream string) io.WriteCloser {
	if a.flags.json {
		return &jsonLines{enc: json.NewEncoder(a.UI.Out), stream: stream}
	}
	return a.textSink()
}

// textSink passes bytes on as they are, and escaped to a terminal.
func (a *App) textSink() io.WriteCloser {
	if a.UI.OutTTY {
		return &ui.EscapeWriter{W: a.UI.Out}
	}
	return rawWriter{a.UI.Out}
}

type rawWriter struct{ io.Writer }

func (rawWriter) Close() error { return nil }

// logLine is one document of logs --json. Bytes that are not UTF-8 come through
// as U+FFFD; who needs them takes the plain form.
type logLine struct {
	Schema string `json:"schema"`
	Stream string `json:"stream"`
	Offset int64  `json:"offset"` // of the text's first byte in the kept file
	Text   string `json:"text"`
}

// jsonLines cuts a stream into documents, never inside a rune.
type jsonLines struct {
	enc    *json.Encoder
	stream string
	offset int64
	rest   []byte
}

func (j *jsonLines) Write(p []byte) (int, error) {
	data := append(j.rest, p...)
	cut := len(data) - unfinished(data)
	if err := j.emit(data[:cut]); err != nil {
		return 0, err
	}
	j.rest = append([]byte(nil), data[cut:]...)
	return len(p), nil
}

func (j *jsonLines) Close() error {
	rest := j.rest
	j.rest = nil
	return j.emit(rest)
}

func (j *jsonLines) emit(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	l := logLine{Schema: schema("logs"), Stream: j.stream, Offset: j.offset, Text: string(text)}
	j.offset += int64(len(text))
	return j.enc.Encode(l)
}

// unfinished counts the bytes at the end that begin a rune and do not end it.
func unfinished(p []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if tail := p[len(p)-i:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return i
		}
	}
	return 0
}
