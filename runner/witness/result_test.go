package witness

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

const (
	claudeGood  = `{"type":"result","subtype":"success","is_error":false,"result":"ok","permission_denials":[]}`
	claudeNo    = `{"type":"result","permission_denials":[{"tool_name":"Bash","tool_use_id":"1","tool_input":{"command":"rm -rf x"}},{"tool_name":"Write","tool_input":{"file_path":"/etc/x"}},{"tool_name":"Bash","tool_input":{"command":"rm -rf x"}},{"tool_name":"mcp__a__b"}]}`
	codexGood   = `{"type":"thread.started","thread_id":"1"}` + "\n" + `{"type":"item.completed","item":{"type":"agent_message","text":"rejected("}}` + "\n" + `{"type":"turn.completed","usage":{}}`
	codexNo     = `{"type":"item.started","item":{"type":"command_execution","command":"x","status":"declined"}}` + "\n" + `{"type":"item.completed","item":{"type":"command_execution","command":"git push","status":"declined"}}` + "\n" + `{"type":"item.completed","item":{"type":"mcp_tool_call","server":"s","tool":"t","status":"failed","error":{"message":"user cancelled MCP tool call"}}}` + "\n" + `{"type":"request_user_input","id":"1"}` + "\n" + `{"type":"turn.failed","error":{"message":"x"}}` + "\n"
	geminiGood  = `{"response":"ok","stats":{"tools":{"byName":{"read_file":{"decisions":{"accept":1,"reject":0}}}}}}`
	geminiNo    = `{"response":"ok","stats":{"tools":{"byName":{"run_shell_command":{"decisions":{"reject":3}},"a":{"decisions":{"reject":0}}}}}}`
	geminiError = `{"error":{"type":"Error","message":"no key","code":41}}`
)

func told(all []Event) string {
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "%s %s x%d; ", e.Code, e.Target, e.Count)
	}
	return b.String()
}

func TestAgentsResultsGiveTheirDenials(t *testing.T) {
	for _, tc := range []struct{ kind, text, want string }{
		{jobspec.ResultClaude, claudeGood, ""},
		{jobspec.ResultClaude, claudeNo, `ask_agent_denied Bash "rm -rf x" x2; ask_agent_denied Write /etc/x x1; ask_agent_denied mcp__a__b x1; `},
		{jobspec.ResultClaude, `[{"type":"system"},` + claudeNo + `]`, `ask_agent_denied Bash "rm -rf x" x2; ask_agent_denied Write /etc/x x1; ask_agent_denied mcp__a__b x1; `},
		{jobspec.ResultClaude, `{"type":"system"}` + "\n" + claudeGood + "\n", ""},
		{jobspec.ResultCodex, codexGood, ""},
		{jobspec.ResultCodex, codexNo, `ask_agent_denied command_execution "git push" x1; ask_agent_denied mcp_tool_call s t x1; ask_agent_denied request_user_input x1; `},
		{jobspec.ResultGemini, geminiGood, ""},
		{jobspec.ResultGemini, geminiError, ""},
		{jobspec.ResultGemini, geminiNo, "ask_agent_denied run_shell_command x3; "},
	} {
		if got := told(judge(tc.kind, []byte(tc.text))); got != tc.want {
			t.Errorf("%s, %s: %q, want %q", tc.kind, tc.text, got, tc.want)
		}
	}
}

// Whatever is not exactly a result is told as such, and never as one without
// denials.
func TestWhatIsNoResultIsToldAsSuch(t *testing.T) {
	for kind, texts := range map[string][]string{
		jobspec.ResultClaude: {"", " \n", "done", "null", "[]", "[1]", `{"type":"result"}`, `{"type":"result","permission_denials":null}`, `{"type":"result","permission_denials":{}}`,
			`{"type":"result","permission_denials":[{}]}`, `{"type":"result","permission_denials":["Bash"]}`, `{"Type":"result","Permission_Denials":[]}`,
			`{"type":"result","permission_denials":[{"tool_name":"x"}],"permission_denials":[]}`, claudeGood + claudeGood, claudeGood + "\n{\"type\":\"system\"}",
			claudeGood + " trailing", claudeGood[:40], "\xff" + claudeGood, "{\"type\":\"result\",\"result\":\"\xff\",\"permission_denials\":[]}",
			strings.Repeat("[", 100) + strings.Repeat("]", 100), strings.Repeat("[", 1<<16)},
		jobspec.ResultCodex: {"", "{}", `{"type":"item.completed","item":{}}`, codexGood + "\nlog line", strings.TrimSuffix(codexGood, `{"type":"turn.completed","usage":{}}`),
			codexGood + "\n" + `{"type":"item.started"}`, `[` + `{"type":"turn.completed"}` + `]`, codexGood[:30]},
		jobspec.ResultGemini: {"", "{}", `{"response":"ok"}`, geminiGood + geminiGood, `{"stats":{"tools":{"byName":{"x":{}}}}}`, `{"stats":{"tools":{"byName":{"x":{"decisions":{"reject":-1}}}}}}`,
			`{"stats":{"tools":{"byName":{"x":{"decisions":{"reject":1e9999}}}}}}`, `{"stats":{"tools":{"byName":{"x":{"decisions":{"reject":"0"}}}}}}`, `{"error":"no"}`},
		"other-json": {claudeGood},
	} {
		for _, text := range texts {
			got := judge(kind, []byte(text))
			if len(got) != 1 || got[0].Code != jobspec.CodeResultUnreadable || got[0].Target == "" {
				t.Errorf("%s, %.60q: %q", kind, text, told(got))
			}
			if _, err := got[0].Encode(); err != nil {
				t.Errorf("%s, %.60q: %v", kind, text, err)
			}
		}
	}
}

func FuzzResultsNeverPanicAndAlwaysFitTheWire(f *testing.F) {
	for _, s := range []string{claudeGood, claudeNo, codexGood, codexNo, geminiGood, geminiNo, geminiError, ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, kind := range []string{jobspec.ResultClaude, jobspec.ResultCodex, jobspec.ResultGemini} {
			for _, e := range judge(kind, b) {
				if _, err := e.Encode(); err != nil {
					t.Errorf("%s: %v", kind, err)
				}
			}
		}
	})
}

func TestCountsBeyondWhatAnEventCanTellStayTheHighestThatItCan(t *testing.T) {
	var tools []string
	for i := range maxKinds + 2 {
		tools = append(tools, fmt.Sprintf(`"t%03d":{"decisions":{"reject":2147483647}}`, i))
	}
	for _, e := range judge(jobspec.ResultGemini, []byte(`{"stats":{"tools":{"byName":{`+strings.Join(tools, ",")+`}}}}`)) {
		if _, err := e.Encode(); err != nil {
			t.Errorf("%s: %v", e.Target, err)
		}
	}
}
