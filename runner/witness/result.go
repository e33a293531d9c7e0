package witness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
)

// MaxResult bounds what is read of a result: the most that limits.output can
// keep, and the line that tells of a gap.
const MaxResult = 64<<20 + 256

// serveResult reads one result and hands on what was denied in it.
func serveResult(kind string, in io.Reader, out io.Writer) error {
	b, err := io.ReadAll(io.LimitReader(in, MaxResult+1))
	if err != nil {
		return err
	}
	for _, e := range judge(kind, b) {
		line, err := e.Encode()
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// judge gives the denials that an agent tells of in its own result, or one event
// that says why the result cannot be understood.
func judge(kind string, b []byte) []Event {
	all, err := denials(kind, b)
	if err != nil {
		return []Event{{Code: jobspec.CodeResultUnreadable, Target: printable(err.Error()), Count: 1}}
	}
	return all
}

func denials(kind string, b []byte) ([]Event, error) {
	if len(b) > MaxResult {
		return nil, fmt.Errorf("it is longer than %d bytes", MaxResult)
	}
	all, err := values(b)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("it is empty")
	}
	var t tally
	switch kind {
	case jobspec.ResultClaude:
		err = t.claude(all)
	case jobspec.ResultCodex:
		err = t.codex(all)
	case jobspec.ResultGemini:
		err = t.gemini(all)
	default:
		err = fmt.Errorf("no result of kind %q is known", kind)
	}
	return t.list, err
}

func (t *tally) denied(words ...string) {
	t.count(Event{Code: jobspec.CodeAskAgentDenied, Target: Words(words)}, 1)
}

// claude reads what claude -p --output-format json prints, one object, or with
// stream-json or --verbose the messages of which the result is the last.
func (t *tally) claude(all []any) error {
	if list, ok := all[0].([]any); ok && len(all) == 1 && len(list) > 0 {
		all = list
	}
	for i, v := range all {
		if (text(v, "type") == "result") != (i == len(all)-1) {
			return errors.New(`its last value, and only that, must be of type "result"`)
		}
	}
	last, _ := all[len(all)-1].(map[string]any)
	list, ok := last["permission_denials"].([]any)
	if !ok {
		return errors.New("it has no list permission_denials")
	}
	for _, d := range list {
		tool := text(d, "tool_name")
		if tool == "" {
			return errors.New("one of its permission_denials names no tool")
		}
		words := []string{tool}
		input := member(d, "tool_input")
		for _, key := range []string{"command", "file_path", "path", "url"} {
			if s := text(input, key); s != "" {
				words = append(words, s)
				break
			}
		}
		t.denied(words...)
	}
	return nil
}

// cancelledMCP is codex's own text for a call that nobody could approve.
const cancelledMCP = "user cancelled MCP tool call"

// codex reads the events of codex exec --json, one object a line, which end with
// the end of the turn.
func (t *tally) codex(all []any) error {
	for _, v := range all {
		item := member(v, "item")
		switch kind := text(v, "type"); {
		case kind == "":
			return errors.New("one of its lines is no event with a type")
		case kind == "request_user_input":
			t.denied("request_user_input")
		case kind != "item.completed":
		case text(item, "status") == "declined":
			t.denied(text(item, "type"), text(item, "command"))
		case text(member(item, "error"), "message") == cancelledMCP:
			t.denied(text(item, "type"), text(item, "server"), text(item, "tool"))
		}
	}
	if last := text(all[len(all)-1], "type"); last != "turn.completed" && last != "turn.failed" {
		return errors.New("its last event does not end a turn")
	}
	return nil
}

// gemini reads what gemini -o json prints: one object with the counts of what
// was decided about each tool, or with an error.
func (t *tally) gemini(all []any) error {
	if len(all) != 1 {
		return errors.New("it is more than one value")
	}
	tools := member(member(all[0], "stats"), "tools")
	byName, counted := tools["byName"].(map[string]any)
	if !counted && member(all[0], "error") == nil {
		return errors.New("it has neither stats.tools.byName nor an error")
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		decisions := member(byName[name], "decisions")
		n, ok := decisions["reject"].(json.Number)
		if !ok {
			return errors.New("one of its tools has no count of rejections")
		}
		count, err := n.Int64()
		if err != nil || count < 0 || count > maxCount {
			return errors.New("one of its counts is no number of calls")
		}
		if count > 0 {
			t.count(Event{Code: jobspec.CodeAskAgentDenied, Target: Words([]string{name})}, count)
		}
	}
	return nil
}

// printable makes any text one that an event can carry.
func printable(s string) string {
	b := []byte(cut(s))
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = '?'
		}
	}
	return string(b)
}
