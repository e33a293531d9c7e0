package jobspec

import "time"

// Defaults that add resolves and writes into the signed bytes.
const (
	DefaultTTL      = 90 * 24 * time.Hour
	DefaultApplyFor = 24 * time.Hour
	DefaultZone     = "UTC"
	DefaultBackend  = BackendBwrap

	SkipWord = "skip" // the default for missed and for overlap
	ExitWord = "exit" // the default for result
	FailWord = "fail" // the default for denials.on_denial

	DefaultMaxDenials = 20

	OnceWord = "once" // for missed: the newest missed slot runs
	// MaxRetries bounds the further attempts of one run.
	MaxRetries = 10
)

// Words for result: whose own result is read for what was denied to it.
const (
	ResultClaude = "claude-json"
	ResultCodex  = "codex-json"
	ResultGemini = "gemini-json"
)

// Ceilings that hold where policy.toml leaves a field out.
const (
	DefaultMaxTTL      = 90 * 24 * time.Hour
	DefaultMinInterval = time.Minute
	DefaultMaxJobs     = 20
)

// How late a slot may start where missed = "once". The default is half of the
// schedule's shortest distance between two slots, within these bounds: a slot that is
// noticed within the shorter one is not missed at all.
const (
	ShortestStartDeadline = 2 * time.Minute
	LongestStartDeadline  = 2 * time.Hour
	MaxStartDeadline      = 366 * 24 * time.Hour // for who names one
)

// defaultStartDeadline is for a schedule with that shortest distance of slots; zero
// stands for one that is not known, or a single slot.
func defaultStartDeadline(gap time.Duration) time.Duration {
	if gap == 0 {
		return LongestStartDeadline
	}
	return min(max(gap/2, ShortestStartDeadline), LongestStartDeadline).Truncate(time.Second)
}

// DefaultLimits are the limits of a job whose owner names none.
func DefaultLimits() Limits {
	return Limits{
		TimeoutSeconds: 900,
		GraceSeconds:   10,
		MemoryBytes:    1 << 30,
		CPUPercent:     100,
		PIDs:           256,
		FileSizeBytes:  1 << 30,
		OpenFiles:      1024,
		OutputBytes:    1 << 20,
		TmpBytes:       64 << 20,
	}
}

// FloorLimits are the highest limits that any policy can give.
func FloorLimits() Limits {
	return Limits{
		TimeoutSeconds:       24 * 60 * 60,
		GraceSeconds:         60,
		MemoryBytes:          1 << 42,
		CPUPercent:           100 * 1024,
		PIDs:                 32768,
		FileSizeBytes:        1 << 42,
		OpenFiles:            65536,
		OutputBytes:          64 << 20,
		TmpBytes:             16 << 30,
		WorkspaceGrowthBytes: 1 << 42,
		Connections:          65536,
		NetBytes:             1 << 42,
		StateBytes:           1 << 42,
	}
}

// limitField is one field of Limits, for code that treats all alike.
type limitField struct {
	name     string
	value    func(*Limits) *int64
	required bool // zero is refused: the job would run without it
}

// limitFields lists the fields in the order of the signed bytes.
func limitFields() []limitField {
	return []limitField{
		{"timeout_seconds", func(l *Limits) *int64 { return &l.TimeoutSeconds }, true},
		{"grace_seconds", func(l *Limits) *int64 { return &l.GraceSeconds }, false},
		{"memory_bytes", func(l *Limits) *int64 { return &l.MemoryBytes }, false},
		{"cpu_percent", func(l *Limits) *int64 { return &l.CPUPercent }, false},
		{"pids", func(l *Limits) *int64 { return &l.PIDs }, true},
		{"file_size_bytes", func(l *Limits) *int64 { return &l.FileSizeBytes }, true},
		{"open_files", func(l *Limits) *int64 { return &l.OpenFiles }, true},
		{"output_bytes", func(l *Limits) *int64 { return &l.OutputBytes }, true},
		{"tmp_bytes", func(l *Limits) *int64 { return &l.TmpBytes }, true},
		{"workspace_growth_bytes", func(l *Limits) *int64 { return &l.WorkspaceGrowthBytes }, false},
		{"connections", func(l *Limits) *int64 { return &l.Connections }, false},
		{"net_bytes", func(l *Limits) *int64 { return &l.NetBytes }, false},
		{"state_bytes", func(l *Limits) *int64 { return &l.StateBytes }, false},
	}
}

// orDefault fills the fields that are zero from def.
func (l Limits) orDefault(def Limits) Limits {
	for _, f := range limitFields() {
		if v := f.value(&l); *v == 0 {
			*v = *f.value(&def)
		}
	}
	return l
}
