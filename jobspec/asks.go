package jobspec

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// askIDLength is how many characters of base32 name an ask.
const askIDLength = 12

// ask collects a question once, whichever segments raise it again.
func (j *judge) ask(f finding) {
	a := Ask{ID: j.askID(f), Rule: f.rule, Layer: f.layer, Question: j.question(f)}
	if !slices.ContainsFunc(j.asks, func(b Ask) bool { return b.ID == a.ID }) {
		j.asks = append(j.asks, a)
	}
}

// askID names a question by all that it depends on. When any of it changes, so
// does the id, and an answer given before answers nothing.
func (j *judge) askID(f finding) string {
	parts := []string{"ask-v1", f.rule, f.text, f.layer}
	parts = append(parts, f.words...)
	parts = append(parts, j.realExecutable(), string(j.op.Principal), j.op.Tier.String(), j.op.Net.String())
	h := sha256.New()
	for _, p := range parts { // lengths keep two lists from hashing alike
		_ = binary.Write(h, binary.BigEndian, uint64(len(p))) // a hash never reports an error
		h.Write([]byte(p))
	}
	name := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil))
	return strings.ToLower(name[:askIDLength])
}

func (j *judge) realExecutable() string {
	for _, b := range j.spec.Bound {
		if b.Role == RoleExecutable {
			return b.Real
		}
	}
	return ""
}

// question is the text that the owner reads and whose digest is signed. It shows
// all that the answer depends on: the part that is asked about and every other
// part of the command word by word, the file that would start, and what the
// sandbox opens. So an answer cannot be carried to a job that has more.
func (j *judge) question(f finding) string {
	lines := []string{
		fmt.Sprintf("May it run %s as %s, tier %s, net %s?", QuoteAll(f.words), j.op.Principal, j.op.Tier, j.op.Net),
		fmt.Sprintf("because: %s (rule %s, %s)", oneLine(f.text), Quote(f.rule), f.layer),
	}
	for i, s := range j.read.segments {
		label := "command:"
		if i > 0 {
			label = "part:   "
		}
		lines = append(lines, label+" "+QuoteAll(s.words))
	}
	lines = append(lines, "program: "+Quote(j.realExecutable()))
	for _, o := range OpensOf(j.op).Lines() {
		lines = append(lines, "opens:   "+o)
	}
	for _, c := range j.spec.Credentials {
		lines = append(lines, "secret:  "+Quote(c.Name)+" as "+c.words())
	}
	return strings.Join(lines, "\n")
}

// oneLine keeps the text of a rule, which may hold quotes, from looking like more
// than it is.
func oneLine(text string) string {
	if strings.ContainsFunc(text, unusual) {
		return Quote(text)
	}
	return text
}

// Lines are the question line by line, as it is shown.
func (a Ask) Lines() []string { return strings.Split(a.Question, "\n") }

// Answer is the owner's "allow" to the ask as it was shown.
func (a Ask) Answer() Answer {
	return Answer{AskID: a.ID, Rule: a.Rule, Shown: DigestOf([]byte(a.Question))}
}

// consent: each ask has the owner's answer to exactly this question, and there
// is no answer to a question that nobody asks.
func (j *judge) consent() {
	open := CodeAskAtTrigger
	if j.phase == PhaseAdd {
		open = CodeCmdAskUnanswered
	}
	for i, a := range j.asks {
		if slices.Contains(j.spec.Answers, a.Answer()) {
			j.asks[i].Answered = true
			continue
		}
		code := open
		if slices.ContainsFunc(j.spec.Answers, func(b Answer) bool { return b.AskID == a.ID }) {
			code = CodeAskAnswerStale
		}
		j.finding(Check{Code: code, Layer: a.Layer, Rule: a.Rule, Target: a.ID, Detail: a.Lines()[0]})
	}
	for _, b := range j.spec.Answers {
		if !slices.ContainsFunc(j.asks, func(a Ask) bool { return a.ID == b.AskID }) {
			j.finding(Check{Code: CodeAskAnswerStale, Layer: LayerSpec, Rule: b.Rule, Target: b.AskID, Detail: "an answer to a question that is not asked"})
		}
	}
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
