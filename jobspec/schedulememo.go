package jobspec

import (
	"sync"

	"github.com/sbxcron/sbxcron/jobspec/canon"
)

// scheduleMemo holds the schedules that were read, by their bytes. Several readers may
// share it: many jobs have the same.
type scheduleMemo struct {
	mu  sync.RWMutex
	all map[string]*knownSchedule
}

// knownSchedule is a schedule with the number that it has in a view. The number belongs
// to whoever builds that view; readers never look at it.
type knownSchedule struct {
	Schedule
	words *viewWords
	id    uint32
}

// number is the schedule's number among the words of a view.
func (k *knownSchedule) number(words *viewWords) uint32 {
	if k.words != words {
		k.words, k.id = words, words.schedules.id(k.Schedule)
	}
	return k.id
}

// keptSchedules bounds what a memo remembers; a full one starts anew.
const keptSchedules = 1 << 16

// read reads a schedule from its JSON, nil where it is none.
func (m *scheduleMemo) read(raw []byte) *knownSchedule {
	m.mu.RLock()
	known := m.all[string(raw)]
	m.mu.RUnlock()
	if known != nil {
		return known
	}
	known = &knownSchedule{}
	if canon.Unmarshal(raw, &known.Schedule, MaxOpBytes) != nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if first := m.all[string(raw)]; first != nil {
		return first // another reader was faster
	}
	if m.all == nil || len(m.all) >= keptSchedules {
		m.all = map[string]*knownSchedule{}
	}
	m.all[string(raw)] = known
	return known
}
