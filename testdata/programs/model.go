package programs

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Key is what the model wants to see as a bearer token.
const Key = "example-key-1234"

// Model is a server that speaks as much of a model's interface as one agent
// needs: asked for something it has a command run, and given the command's output
// it answers with that.
func Model(command string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/responses", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+Key {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		var asked struct {
			Input []struct {
				Type   string          `json:"type"`
				Output json.RawMessage `json:"output"`
			} `json:"input"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		arguments, _ := json.Marshal(map[string]string{"cmd": command})
		item := map[string]any{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "exec_command", "arguments": string(arguments)}
		for _, in := range asked.Input {
			if in.Type == "function_call_output" {
				text := "the command said: " + string(in.Output)
				item = map[string]any{"type": "message", "id": "msg_1", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}}}}
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		event(w, "response.created", map[string]any{"response": map[string]any{"id": "r_1"}})
		event(w, "response.output_item.done", map[string]any{"output_index": 0, "item": item})
		event(w, "response.completed", map[string]any{"response": map[string]any{"id": "r_1", "output": []any{},
			"usage": map[string]any{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": map[string]int{"cached_tokens": 0}, "output_tokens_details": map[string]int{"reasoning_tokens": 0}}}})
	})
	return mux
}

// event writes one event of a stream.
func event(w http.ResponseWriter, kind string, body map[string]any) {
	body["type"] = kind
	text, _ := json.Marshal(body)
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, text)
}
