package retell_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/retell"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing/signingtest"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

const script = `<script>alert(1)</script><img src=x onerror="y">`

// span has a line of each kind that a report tells about, an hour after the first.
func span(list jobspec.Digest) []*record.Leaf {
	op, slot := jobspec.DigestOf([]byte("op 1")), jobspec.SlotAt(storetest.Epoch(), "UTC", 0)
	about := func(run string, fill func(*record.Leaf)) func(*record.Leaf) {
		return func(l *record.Leaf) {
			l.Job, l.Op, l.Seq, l.Run = "nightly", op, 1, run
			fill(l)
		}
	}
	why := func(code jobspec.Code) []record.Reason { return []record.Reason{{Code: code, Target: script + evil}} }
	const h = time.Hour
	return []*record.Leaf{
		leaf(record.TrustLoaded, 0, func(l *record.Leaf) { l.Trust = jobspec.DigestOf([]byte("an older list")) }),
		leaf(record.TrustLoaded, time.Minute, func(l *record.Leaf) { l.Trust = list }),
		leaf(record.Started, h, about("r-1", func(l *record.Leaf) { l.Policy = jobspec.DigestOf([]byte("policy")) })),
		leaf(record.Finished, h, about("r-1", func(l *record.Leaf) {
			l.Outcome, l.Denials = record.OutcomeDenied, []record.Denial{{Code: jobspec.CodePathSensitive, Target: script, Count: 2}}
		})),
		leaf(record.Refused, h, about("r-2", func(l *record.Leaf) { l.Outcome, l.Reasons = record.OutcomeRefused, why(jobspec.CodePathSensitive) })),
		leaf(record.Missed, h, about("", func(l *record.Leaf) { l.Slot, l.SlotCount = &slot, 12 })),
		leaf(record.Lost, h, about("r-3", func(*record.Leaf) {})),
		leaf(record.Held, h, about("", func(l *record.Leaf) { l.RequestedBy = &record.Requester{UID: 1000} })),
		leaf(record.Pruned, h, about("r-1", func(l *record.Leaf) { l.Count, l.Bytes = 3, 4096 })),
		leaf(record.Boot, h, func(l *record.Leaf) { l.Version = script }),
		leaf(record.Refused, 3*h, about("r-9", func(*record.Leaf) {})), // behind the span
	}
}

func report(t *testing.T) *retell.Report {
	t.Helper()
	key := signingtest.FixedKey(t, "alice", "alice", jobspec.RootNamespace)
	list := signingtest.AllowedSigners(t, key)
	dirs := storetest.Root(t, string(list), "")
	raw := storetest.Encode(t, storetest.Genesis(t, dirs))
	h, _ := ledger(t, span(jobspec.DigestOf(list))...)
	from := storetest.Epoch().Add(30 * time.Minute)
	return retell.Make(retell.Source{Ops: []store.Entry{{Op: raw, Sigs: [][]byte{key.Sign(t, jobspec.RootNamespace, raw)}}, {Seq: 1, Op: []byte("no op")}}, Lines: h,
		Trust: []store.TrustCopy{{Kind: store.AllowedSigners, Digest: jobspec.DigestOf(list), Bytes: list}}}, retell.Filter{Since: from, Until: from.Add(time.Hour)})
}

func TestAReportTellsEachKindOfThing(t *testing.T) {
	r := report(t)
	if r.Lines != 8 || r.Ledger != 11 || len(r.Approved) != 0 { // genesis is older
		t.Errorf("%d of %d lines, %d ops", r.Lines, r.Ledger, len(r.Approved))
	}
	if len(r.Ran) != 1 || r.Ran[0].Started != 1 || r.Ran[0].Outcomes["denied"] != 1 || r.Ran[0].Outcomes["missed"] != 12 || r.Ran[0].Outcomes["lost"] != 1 || r.Ran[0].Outcomes["refused"] != 1 {
		t.Errorf("ran: %+v", r.Ran)
	}
	for name, got := range map[string]int{"stopped": len(r.Stopped), "denied": len(r.Denied), "by hand": len(r.ByHand), "retention": len(r.Retention),
		"services": len(r.Services), "in force when it began": len(r.InForce), "policies": len(r.Policies), "keys": len(r.Keys), "unread": len(r.Unread)} {
		if got != 1 {
			t.Errorf("%s: %d rows", name, got)
		}
	}
	if len(r.NotRun) != 2 || r.NotRun[0].Kind != "missed" || r.NotRun[0].Many != 12 || r.NotRun[1].Kind != "lost" {
		t.Errorf("not run: %+v", r.NotRun)
	}
	if r.ByHand[0].UID == nil || *r.ByHand[0].UID != 1000 || r.Retention[0].Files != 3 || r.Keys[0].Principal != "alice" || r.InForce[0].Leaf != 1 {
		t.Errorf("%+v %+v %+v %+v", r.ByHand, r.Retention, r.Keys, r.InForce)
	}
	if r.Host != storetest.Host || r.Genesis.IsZero() {
		t.Errorf("host %q, genesis %s", r.Host, r.Genesis)
	}
}

func TestWhatAReportIsMadeOfIsNoMarkupAndNoControl(t *testing.T) {
	r := report(t)
	html, err := r.HTML()
	must(t, err)
	doc, err := json.Marshal(r)
	must(t, err)
	if !strings.Contains(string(doc), "r-1") {
		t.Errorf("%s", doc)
	}
	for name, b := range map[string][]byte{"html": html, "text": r.Text()} {
		if bytes.ContainsAny(b, "\x1b\x07\r\u202e") {
			t.Errorf("%s has a control character", name)
		}
		if !bytes.Contains(b, []byte("r-2")) || !bytes.Contains(b, []byte("onerror")) {
			t.Errorf("%s lacks a row", name)
		}
	}
	for _, bad := range []string{"<script", "<img", "http-equiv=\"refresh", "src=\""} {
		if bytes.Contains(html, []byte(bad)) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if !bytes.Contains(html, []byte("default-src 'none'")) || !bytes.Contains(html, []byte("&lt;script&gt;")) {
		t.Errorf("%s", html)
	}
}
