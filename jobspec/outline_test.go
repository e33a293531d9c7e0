package jobspec

import (
	"bytes"
	"reflect"
	"testing"
	"time"
)

// outlineOps are ops of every shape: each action, texts with every kind of
// character, a spec that says "schedule" in other places, too.
func outlineOps() []*Op {
	now := InstantOf(testNow())
	base := Op{Type: OpType, Host: testHost, Seq: 7, Prev: DigestOf([]byte("p")), Job: "nightly", Revision: 2, Created: now, ApplyBefore: now.Add(time.Hour), Principal: "alice"}
	with := func(change func(*Op)) *Op { op := base; change(&op); return &op }
	nasty := "\"schedule\":{\"cron\":\"* * * * *\"},\\\"\\\\\n\x00\u2028{[}]"
	spec := &Spec{
		Argv: []string{"a", nasty, ""}, Env: map[string]string{"schedule": nasty, "expires_at": `"2026-01-01T00:00:00Z"`}, Stdin: nasty,
		Bound:    []Bound{{Role: RoleExecutable, Typed: nasty, Real: "/bin/true", Size: 9007199254740991, Mode: "0755"}},
		Schedule: Schedule{Cron: "30 2 * * *", Timezone: "Europe/Berlin", Missed: "skip", Overlap: "skip", Words: "every day at 02:30 " + nasty},
		StateDir: true, ExpiresAt: now.Add(90 * 24 * time.Hour), Limits: Limits{TimeoutSeconds: 900}, Note: nasty,
	}
	return []*Op{
		with(func(op *Op) { op.Action, op.Tier, op.Net, op.Spec = Add, Workspace, NetProxy, spec }),
		with(func(op *Op) {
			op.Action, op.Tier, op.Net, op.Spec = Replace, Scratch, NetNone, &Spec{Argv: []string{"x"}}
		}),
		with(func(op *Op) { op.Action, op.Tier, op.Net, op.Spec = Replace, Scratch, NetNone, &Spec{} }),
		with(func(op *Op) {
			op.Action, op.Tier, op.Net, op.Spec = Add, ReadOnly, NetNone, &Spec{Schedule: Schedule{EverySeconds: 60, Timezone: "UTC"}, ExpiresAt: now}
		}),
		with(func(op *Op) { op.Action, op.Tier, op.Net, op.Target = Enable, ReadOnly, NetNone, DigestOf([]byte("t")) }),
		with(func(op *Op) { op.Action = Disable }),
		with(func(op *Op) { op.Action, op.Checkpoint = Remove, "note\nwith lines\n" }),
		with(func(op *Op) {
			op.Action, op.Job, op.Revision, op.Checkpoint = Attest, "", 0, "log\n7\n\n\u2014 log AAAA\n"
		}),
		with(func(op *Op) { op.Action, op.Checkpoint = Remove, "\\u000a \"quoted\"\n" }),
		with(func(op *Op) {
			op.Action, op.Seq, op.Prev, op.Job, op.Revision = Genesis, 0, Digest{}, "", 0
			op.Root = &GenesisBody{AuditKey: "k", AllowedSigners: DigestOf([]byte("s"))}
		}),
		with(func(op *Op) { op.Job, op.Revision, op.Seq = Name("odd \u00e9 \" name"), -3, MaxOpBytes }),
	}
}

// outlineOf is what the outline of an op must be.
func outlineOf(op *Op) Outline {
	o := Outline{Op: *op, HasSpec: op.Spec != nil}
	if o.HasSpec {
		o.Schedule, o.ExpiresAt = op.Spec.Schedule, op.Spec.ExpiresAt
	}
	o.Op.Spec = nil
	return o
}

// The outline is read by other code than the op. Each byte of each op is changed in
// several ways: where the whole op can be read, the outline says the same; where it
// cannot, the outline is refused, too, unless the fault lies in the spec.
func TestTheOutlineSaysWhatTheOpSays(t *testing.T) {
	tried, inSpec := 0, 0
	for n, op := range outlineOps() {
		raw, err := op.Encode()
		if err != nil {
			t.Fatal(err)
		}
		from, to := bytes.Index(raw, []byte(`"spec":{`)), len(raw)
		if op.Spec == nil {
			from = to
		}
		var reader Outliner
		for i := range raw {
			for _, changed := range [][]byte{
				raw, raw[:i], append(bytes.Clone(raw), raw[i]),
				flip(raw, i, 1), flip(raw, i, 0x20), flip(raw, i, 0x80), set(raw, i, '"'), set(raw, i, '0'), set(raw, i, '\\'), set(raw, i, '}'), set(raw, i, ','),
				append(bytes.Clone(raw[:i]), raw[min(i+1, len(raw)):]...), append(append(bytes.Clone(raw[:i]), raw[i]), raw[i:]...),
			} {
				tried++
				full, fullErr := DecodeOp(changed)
				got, err := reader.Read(changed)
				switch {
				case fullErr == nil && err != nil:
					t.Fatalf("op %d byte %d: the outline of %q is refused: %v", n, i, changed, err)
				case fullErr == nil && !reflect.DeepEqual(apart(got), outlineOf(full)):
					t.Fatalf("op %d byte %d: the outline of %q is %+v, want %+v", n, i, changed, got, outlineOf(full))
				case fullErr != nil && err == nil && i < from:
					t.Fatalf("op %d byte %d: %q has an outline, and is refused for %v", n, i, changed, fullErr)
				case fullErr != nil && err == nil:
					inSpec++
				}
			}
		}
	}
	if tried < 10_000 || inSpec == 0 {
		t.Errorf("%d tried, %d with a fault in the spec alone", tried, inSpec)
	}
}

// apart is an outline without what it shares with others.
func apart(o Outline) Outline {
	o.known = nil
	return o
}

func flip(b []byte, i int, mask byte) []byte { return set(b, i, b[i]^mask) }

func set(b []byte, i int, c byte) []byte {
	b = bytes.Clone(b)
	b[i] = c
	return b
}

// A schedule that this version does not know leaves the job without a due time, and
// the rest of the chain as it is.
func TestAnOutlineWithoutAReadableScheduleHasNone(t *testing.T) {
	raw, err := outlineOps()[0].Encode()
	if err != nil {
		t.Fatal(err)
	}
	var reader Outliner
	for _, c := range []struct{ from, to string }{{`"cron":`, `"moon":`}, {`"2027-`, `"2O27-`}, {`"argv":`, `"argw":`}} {
		changed := bytes.Replace(raw, []byte(c.from), []byte(c.to), 1)
		o, err := reader.Read(changed)
		if err != nil || bytes.Equal(changed, raw) {
			t.Fatalf("%s: %v", c.to, err)
		}
		if (o.Schedule == Schedule{}) != (c.to == `"moon":`) || o.ExpiresAt.IsZero() != (c.to == `"2O27-`) {
			t.Errorf("%s: schedule %+v, expires %s", c.to, o.Schedule, o.ExpiresAt)
		}
	}
}

func BenchmarkOutline(b *testing.B) {
	raw, err := outlineOps()[0].Encode()
	if err != nil {
		b.Fatal(err)
	}
	var reader Outliner
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := reader.Read(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzOutline(f *testing.F) {
	for _, op := range outlineOps() {
		if raw, err := op.Encode(); err == nil {
			f.Add(raw)
		}
	}
	var reader Outliner
	f.Fuzz(func(t *testing.T, b []byte) {
		full, fullErr := DecodeOp(b)
		got, err := reader.Read(b)
		if fullErr == nil && (err != nil || !reflect.DeepEqual(apart(got), outlineOf(full))) {
			t.Errorf("%q: %+v, %v", b, got, err)
		}
	})
}
