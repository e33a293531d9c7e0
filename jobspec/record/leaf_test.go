package record

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sbxcron/sbxcron/jobspec"
)

// wholeLeaf has every field at a value of its own.
func wholeLeaf() *Leaf {
	d := func(s string) jobspec.Digest { return jobspec.DigestOf([]byte(s)) }
	slot := jobspec.Slot{Civil: "2026-10-25T02:30", Zone: "Europe/Berlin", Fold: 1}
	return &Leaf{Type: LeafType, Host: "9c1f00000000000000000000000000ab", Kind: Finished, Time: Stamp(time.Unix(1, 5)), Boot: "b", Job: "j", Op: d("op"), Seq: 7,
		Run: "r", Slot: &slot, SlotLast: &slot, SlotCount: 2, Scheduled: "s", Trigger: BySchedule, RequestedBy: &Requester{UID: 1000, Root: true},
		Outcome: OutcomeDenied, Reasons: []Reason{{Code: jobspec.CodeEscSudo, Layer: "floor", Rule: "r", Target: "t", Detail: "d"}}, Principal: "alice", KeyID: "SHA256:x",
		Tier: jobspec.Workspace, Net: jobspec.NetProxy, Verdicts: &jobspec.Verdicts{Identity: jobspec.Yes, Capability: jobspec.No, Resources: jobspec.Yes, Consent: jobspec.Yes},
		Trust: d("trust"), Revoked: d("revoked"), Policy: d("policy"), Backend: "bwrap", BackendFile: d("bwrap"), Plan: d("plan"), Stub: d("stub"), Layers: []string{"seccomp"}, Credentials: []string{"db-password"},
		Probe: "passed", Weaker: []string{"w"}, Soft: []string{"memory"}, Notes: []string{"n"}, SameUID: true, UID: 1001, StartedAt: "a", EndedAt: "e", ExitCode: 3, Exited: true, Signal: "TERM",
		Denials:     []Denial{{Code: jobspec.CodeNetDeniedDirect, Target: "t", Certainty: "observed", Count: 2, FirstAt: "f", Expected: true, Rule: "r"}},
		Connections: []Connection{{Host: "h", Port: 443, Address: "a", Upstream: "u", Count: 2, BytesIn: 3, BytesOut: 4, Rule: "r"}},
		Resources:   &Resources{CPUMillis: 5, MaxRSSBytes: 6}, Outputs: []Output{{Stream: "out", Bytes: 9, SHA256: d("o"), Kept: 8, KeptSHA: d("k"), Truncated: true}},
		Text: d("text"), Zone: "2026a", Version: "0.1.0", PID: 42, Until: "u", Count: 3, Bytes: 4,
		Attempt: 2, Attempts: []Attempt{{Outcome: OutcomeFailed, StartedAt: "a", EndedAt: "e", ExitCode: 1, Exited: true, Signal: "TERM", Code: jobspec.CodeEscSudo}},
		Channel: "ops", Event: jobspec.EventFailed}
}

func TestALeafIsReadBackWhole(t *testing.T) {
	l := wholeLeaf()
	for i := range reflect.TypeOf(*l).NumField() {
		if reflect.ValueOf(*l).Field(i).IsZero() {
			t.Errorf("the test leaves %s out", reflect.TypeOf(*l).Field(i).Name)
		}
	}
	b, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsAny(b, "\n\r") {
		t.Errorf("a line end inside the line: %q", b)
	}
	got, err := Decode(b)
	if err != nil || !reflect.DeepEqual(got, l) {
		t.Errorf("read %+v, error %v", got, err)
	}
	again, err := got.Encode()
	if err != nil || !bytes.Equal(again, b) {
		t.Errorf("written as %s, error %v", again, err)
	}
}

// The line is what the ledger hashes, so its bytes are frozen here.
func TestTheLineOfALeafIsFrozen(t *testing.T) {
	l := &Leaf{Host: "9c1f00000000000000000000000000ab", Kind: Started, Time: "2026-11-30T12:00:00.5Z", Job: "nightly", Seq: 7,
		Slot: &jobspec.Slot{Civil: "2026-11-30T12:00", Zone: "UTC"}, Trigger: BySchedule, Tier: jobspec.Scratch, Net: jobspec.NetNone,
		Verdicts: &jobspec.Verdicts{Identity: jobspec.Yes, Capability: jobspec.Yes, Resources: jobspec.Yes, Consent: jobspec.Yes}}
	b, err := l.Encode()
	want := `{"type":"sbxcron.leaf/v1","host":"9c1f00000000000000000000000000ab","kind":"started","time":"2026-11-30T12:00:00.5Z","job":"nightly","seq":7,` +
		`"slot":{"civil":"2026-11-30T12:00","zone":"UTC"},"trigger":"schedule","tier":"scratch","net":"none",` +
		`"verdicts":{"identity":"yes","capability":"yes","resources":"yes","consent":"yes"}}`
	if err != nil || string(b) != want {
		t.Errorf("%s, %v\nwant %s", b, err, want)
	}
}

func TestOtherLinesAreRefused(t *testing.T) {
	b, err := wholeLeaf().Encode()
	if err != nil {
		t.Fatal(err)
	}
	line := string(b)
	for name, s := range map[string]string{
		"line end": line + "\n", "blank": " " + line, "two": line + line, "cut": line[:len(line)-1], "nothing": "",
		"another type": strings.Replace(line, "leaf/v1", "leaf/v2", 1), "no type": `{"kind":"boot"}`,
		"duplicate": strings.Replace(line, `"seq":7`, `"seq":7,"seq":7`, 1), "unknown member": strings.Replace(line, `"seq":7`, `"seq":7,"x":1`, 1),
		"unknown code": strings.Replace(line, "esc_sudo", "esc_none", 1), "unknown tier": strings.Replace(line, `"workspace"`, `"full"`, 1),
		"unknown verdict": strings.Replace(line, `"no"`, `"maybe"`, 1), "zero written": strings.Replace(line, `"seq":7`, `"seq":0`, 1),
		"too large": strings.Replace(line, `"boot":"b"`, `"boot":"`+strings.Repeat("b", MaxLeafBytes)+`"`, 1),
	} {
		if l, err := Decode([]byte(s)); err == nil {
			t.Errorf("%s is read as %+v", name, l)
		}
	}
	large := wholeLeaf()
	large.Signal = strings.Repeat("x", MaxLeafBytes)
	if b, err := large.Encode(); err == nil {
		t.Errorf("a leaf of %d bytes is written", len(b))
	}
}

func TestWhichLeavesEndASlot(t *testing.T) {
	final := map[Kind]bool{Finished: true, Refused: true, Skipped: true, Missed: true, Lost: true}
	for _, k := range []Kind{Claimed, Started, Finished, Refused, Skipped, Missed, Lost, Held, Released, Attempted, Boot, TrustLoaded, OpAccepted, OpRefused, Pruned, Alert, "", "nonsense"} {
		if got := (&Leaf{Kind: k}).Final(); got != final[k] {
			t.Errorf("%s without a slot: %v", k, got)
		}
		if got := (&Leaf{Kind: k, Slot: &jobspec.Slot{Civil: "x"}}).Final(); got != (final[k] || k == Held) {
			t.Errorf("%s with a slot: %v", k, got)
		}
	}
}

func TestStampsKeepNanoseconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		if got := ParseStamp(Stamp(want)); !got.Equal(want) {
			t.Fatalf("%v became %v", want, got)
		}
	})
	if !ParseStamp("").IsZero() || !ParseStamp("yesterday").IsZero() {
		t.Error("text that is no stamp is a time")
	}
}

func FuzzDecode(f *testing.F) {
	b, err := wholeLeaf().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Decode(data)
		if err != nil {
			return
		}
		if again, err := l.Encode(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%q was read and is written as %q, %v", data, again, err)
		}
	})
}
