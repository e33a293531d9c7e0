package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// state is what outlives a restart. All of it is derived, and none of it grants
// anything.
type state struct {
	Schema string             `json:"schema"`
	Next   int64              `json:"next"` // index of the first line that was not looked at
	Desk   *desk              `json:"desk"`
	Boxes  map[string]*outbox `json:"boxes"` // by channel
}

const stateSchema = "sbxcron.notify/v1"

// maxState bounds what is read, in bytes.
const maxState = 64 << 20

// Dir is the folder of the state in STATE.
func Dir(d store.Dirs) string { return filepath.Join(d.State, "notify") }

func statePath(d store.Dirs) string { return filepath.Join(Dir(d), "state.json") }

// loadState reads the state, an empty one where there is none. With an error the
// state is empty too: problems are found again.
//
// end is the number of lines: none beyond was looked at.
func loadState(d store.Dirs, end int64) (*state, bool, error) {
	empty := &state{Schema: stateSchema, Desk: newDesk(), Boxes: map[string]*outbox{}}
	text, err := safefile.Read(statePath(d), safefile.Options{MaxBytes: maxState, UID: d.UID, Secret: true})
	if errors.Is(err, fs.ErrNotExist) {
		return empty, false, nil
	}
	if err != nil {
		return empty, false, err
	}
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return empty, false, fmt.Errorf("read %q: %w", statePath(d), err)
	}
	if s.Schema != stateSchema || s.Next < 0 || s.Desk == nil || s.Desk.Problems == nil || s.Desk.Ends == nil || s.Boxes == nil {
		return empty, false, fmt.Errorf("read %q: it is not of this version", statePath(d))
	}
	s.Next = min(s.Next, end)
	for name, p := range s.Desk.Problems {
		if p == nil || p.Told == nil {
			delete(s.Desk.Problems, name)
		}
	}
	for name, o := range s.Boxes {
		if o == nil {
			delete(s.Boxes, name)
		}
	}
	return &s, true, nil
}

// save replaces the file whole.
func (s *state) save(disk safefile.Disk, d store.Dirs) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write %q: %w", statePath(d), err)
	}
	if err := os.Mkdir(Dir(d), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write %q: %w", statePath(d), err)
	}
	return safefile.WriteOn(disk, statePath(d), text, 0o600)
}
