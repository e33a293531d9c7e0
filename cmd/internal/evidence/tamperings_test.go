package evidence_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/checkpoint"
)

func tamperings() []tampering {
	return slices.Concat(ofOps(), ofSigners(), ofLines(), ofTheTail(), ofCheckpoints(), ofEpochs(), ofOutputs())
}

func ofOps() []tampering {
	const tampered = jobspec.CodeOpTampered
	return []tampering{
		{"a byte of genesis is changed", func(m *mischief) { m.edit(op(0), "alice", "alicf") }, "authentic intact", jobspec.CodeHostMismatch},
		{"the command of an op is changed", func(m *mischief) { m.edit(op(1), "/bin/true", "/bin/fals") }, "authentic intact complete", jobspec.CodeSigInvalid},
		{"the tier of an op is raised", func(m *mischief) { m.edit(op(1), `"scratch"`, `"workspace"`) }, "authentic intact complete", jobspec.CodeSigInvalid},
		{"an op is spelled otherwise", func(m *mischief) { m.edit(op(2), `,"seq"`, `, "seq"`) }, "intact complete", tampered},
		{"a member stands twice", func(m *mischief) { m.edit(op(2), `{"type"`, `{"type":"sbxcron.op/v1","type"`) }, "intact complete", tampered},
		{"the last op is removed", func(m *mischief) { m.drop(4) }, "complete", jobspec.CodeChainRollback},
		{"an op in the middle is removed", func(m *mischief) { m.drop(2) }, "intact complete", jobspec.CodeSeqInvalid},
		{"genesis is removed", func(m *mischief) { m.drop(0) }, "authentic intact", jobspec.CodeSeqInvalid},
		{"all ops are removed", func(m *mischief) {
			for seq := range 5 {
				m.drop(seq)
			}
		}, "complete", jobspec.CodeChainMissing},
		{"two ops change places", func(m *mischief) {
			for _, end := range []string{"", ".sig"} {
				m.files[op(2)+end], m.files[op(1)+end] = m.files[op(1)+end], m.files[op(2)+end]
			}
		}, "intact", jobspec.CodeSeqInvalid},
		{"an op is repeated behind the last", func(m *mischief) { m.files[op(5)], m.files[op(5)+".sig"] = m.files[op(4)], m.files[op(4)+".sig"] }, "intact", jobspec.CodeHeadMoved},
		{"the owner's key signs another op in the place of one", func(m *mischief) {
			m.edit(op(4), "/bin/true", "/bin/fals")
			m.resign(4, "alice", "scratch.none.v1@sbxcron")
		}, "intact complete", tampered},
		{"an op has no signature", func(m *mischief) { delete(m.files, op(3)+".sig") }, "authentic", jobspec.CodeSigMissing},
		{"an op has the signature of another", func(m *mischief) { m.files[op(1)+".sig"] = m.files[op(4)+".sig"] }, "authentic", jobspec.CodeSigInvalid},
		{"an op is signed for another purpose", func(m *mischief) { m.resign(4, "alice", "git") }, "authentic", jobspec.CodeKeyNotForNamespace},
		{"an op is signed for a lower right than it needs", func(m *mischief) { m.resign(3, "alice", "manage.v1@sbxcron") }, "authentic", jobspec.CodeNamespaceMismatch},
		{"an op is signed by another owner", func(m *mischief) { m.resign(1, "bob", "scratch.none.v1@sbxcron") }, "authentic", jobspec.CodeKeyNotForPrincipal},
		{"a signature is no signature", func(m *mischief) { m.files[op(4)+".sig"] = []byte("good\n") }, "authentic", jobspec.CodeSigInvalid},
		{"text stands behind a signature", func(m *mischief) { m.files[op(4)+".sig"] = append(m.files[op(4)+".sig"], "more\n"...) }, "authentic", jobspec.CodeSigInvalid},
		{"an op has more signatures than any needs", func(m *mischief) {
			for n := range 16 {
				m.files[fmt.Sprintf("%s.sig.%d", op(4), n+2)] = m.files[op(4)+".sig"]
			}
		}, "authentic", jobspec.CodeSigInvalid},
		{"a second signature is bad", func(m *mischief) { m.files[op(4)+".sig.2"] = m.files[op(1)+".sig"] }, "authentic", jobspec.CodeSigInvalid},
	}
}

func (m *mischief) drop(seq int) {
	delete(m.files, op(seq))
	delete(m.files, op(seq)+".sig")
}

func ofSigners() []tampering {
	return []tampering{
		{"a stranger signs an op", func(m *mischief) { m.next("eve") }, "authentic", jobspec.CodeKeyUnknown},
		{"a stranger signs an op and adds himself to a list", func(m *mischief) {
			m.next("eve")
			m.believe("alice", "bob", "eve")
		}, "", jobspec.CodeKeyUnknown},
		{"and names the list in a line of his own", func(m *mischief) {
			m.next("eve")
			d := m.believe("alice", "bob", "eve")
			m.change(func(all []string) []string {
				return append(all, `{"type":"sbxcron.leaf/v1","host":"`+string(m.h.writer.State().Host)+`","kind":"trust_loaded","time":"2026-12-02T13:00:00Z","trust":"`+d.String()+"\"}\n")
			})
		}, "", jobspec.CodeKeyUnknown},
		{"a list of signers is edited", func(m *mischief) {
			for name := range m.files {
				if strings.HasPrefix(name, "state/trust/allowed_signers.") {
					m.files[name] = append(m.files[name], "# more\n"...)
				}
			}
		}, "authentic intact", jobspec.CodeStoreCorrupt},
		{"the lists of signers are removed", func(m *mischief) {
			for name := range m.files {
				if strings.HasPrefix(name, "state/trust/allowed_signers.") {
					delete(m.files, name)
				}
			}
		}, "authentic", jobspec.CodeKeyUnknown},
	}
}

// The third line says that a run started, the fourth how it ended.
func ofLines() []tampering {
	const tampered = jobspec.CodeLedgerTampered
	cut := func(from, to int) func(*mischief) {
		return func(m *mischief) { m.change(func(all []string) []string { return slices.Delete(all, from, to) }) }
	}
	return []tampering{
		{"an outcome is turned round", func(m *mischief) { m.line(3, `"succeeded"`, `"failed"`) }, "intact runs", tampered},
		{"a time is changed", func(m *mischief) { m.line(3, `"time":"2026-11-30T12:`, `"time":"2026-11-30T13:`) }, "intact runs", tampered},
		{"a slot is changed", func(m *mischief) { m.line(2, `"civil":"2026-11-30T12:`, `"civil":"2026-11-30T11:`) }, "intact runs", tampered},
		{"a line of the last day is changed", func(m *mischief) { m.line(len(m.lines())-1, `"succeeded"`, `"denied"`) }, "intact runs", tampered},
		{"a line is put in another host's name", func(m *mischief) { m.line(3, `"host":"0001`, `"host":"ffff`) }, "intact runs", jobspec.CodeHostMismatch},
		{"a line is spelled otherwise", func(m *mischief) { m.line(3, `,"kind"`, `, "kind"`) }, "intact complete runs", jobspec.CodeStoreCorrupt},
		{"a line names another op", func(m *mischief) { m.line(2, m.h.spec("nightly"), jobspec.DigestOf(nil).String()) }, "intact complete runs", tampered},
		{"the first line is removed", cut(0, 1), "intact complete runs", jobspec.CodeLedgerTruncated},
		{"a run is removed", cut(2, 4), "intact complete runs", tampered},
		{"an end is removed", cut(3, 4), "intact complete runs", jobspec.CodeLostRun},
		{"a start is removed", cut(2, 3), "intact complete runs", tampered},
		{"the last line is removed", func(m *mischief) { m.change(func(all []string) []string { return all[:len(all)-1] }) }, "complete runs", jobspec.CodeLedgerTruncated},
		{"all lines are removed", func(m *mischief) { m.setLines(nil) }, "complete runs", jobspec.CodeLedgerTruncated},
		{"the end of the last line is cut off", func(m *mischief) {
			m.change(func(all []string) []string {
				return append(all[:len(all)-1], strings.TrimSuffix(all[len(all)-1], "\n"))
			})
		}, "complete runs", jobspec.CodeLedgerTruncated},
		{"two lines change places", func(m *mischief) {
			m.change(func(all []string) []string { all[2], all[3] = all[3], all[2]; return all })
		}, "intact complete runs", tampered},
		{"a line stands twice", func(m *mischief) {
			m.change(func(all []string) []string { return slices.Insert(all, 3, all[2]) })
		}, "intact complete runs", tampered},
		{"a run is made up in the middle", func(m *mischief) {
			m.change(func(all []string) []string {
				return slices.Insert(all, 4, strings.Replace(all[2], "r-0123456789abcdefghjkmnpqr1", "r-0123456789abcdefghjkmnpqrz", 1), strings.Replace(all[3], "r-0123456789abcdefghjkmnpqr1", "r-0123456789abcdefghjkmnpqrz", 1))
			})
		}, "intact complete runs", tampered},
		{"an empty line is put in", func(m *mischief) {
			m.change(func(all []string) []string { return slices.Insert(all, 3, "\n") })
		}, "intact complete runs", jobspec.CodeStoreCorrupt},
		{"lines end as on Windows", func(m *mischief) {
			m.change(func(all []string) []string {
				return strings.SplitAfter(strings.ReplaceAll(strings.Join(all, ""), "\n", "\r\n"), "\n")
			})
		}, "intact complete runs", jobspec.CodeStoreCorrupt},
		{"a month is put before the others", func(m *mischief) { m.files["state/ledger/2026-10.jsonl"] = []byte(m.lines()[0]) }, "intact runs", tampered},
		{"a month is taken apart at the wrong place", func(m *mischief) {
			all := m.lines()
			m.setLines(all[:5])
			m.files["state/ledger/2026-10.jsonl"] = []byte(strings.Join(all[5:], ""))
		}, "intact complete runs", tampered},
	}
}

// Behind the last checkpoint nobody vouches for lines; what they say must still fit.
func ofTheTail() []tampering {
	add := func(edit func(m *mischief, all []string) []string) func(*mischief) {
		return func(m *mischief) { m.change(func(all []string) []string { return append(all, edit(m, all)...) }) }
	}
	return []tampering{
		{"behind the checkpoint, a run starts once more", add(func(_ *mischief, all []string) []string { return all[2:4] }), "complete", jobspec.CodeStoreCorrupt},
		{"behind the checkpoint, a run ends that did not start", add(func(_ *mischief, all []string) []string {
			return []string{strings.Replace(all[3], "r-0123456789abcdefghjkmnpqr1", "r-0123456789abcdefghjkmnpqry", 1)}
		}), "intact complete", jobspec.CodeStoreCorrupt},
		{"behind the checkpoint, an op is accepted that is not there", add(func(m *mischief, all []string) []string {
			return []string{strings.Replace(all[2], m.h.spec("nightly"), jobspec.DigestOf(nil).String(), 1)}
		}), "complete", jobspec.CodeChainRollback},
		{"behind the checkpoint, a line is no leaf", add(func(*mischief, []string) []string {
			return []string{"{\"type\":\"sbxcron.leaf/v1\", \"kind\":\"boot\"}\n"}
		}), "intact runs", jobspec.CodeStoreCorrupt},
	}
}

func ofCheckpoints() []tampering {
	const (
		invalid  = jobspec.CodeCheckpointInvalid
		rollback = jobspec.CodeCheckpointRollback
	)
	return []tampering{
		{"the newest checkpoint is removed", func(m *mischief) { delete(m.files, newest) }, "complete runs", rollback},
		{"an older checkpoint is put in its place", func(m *mischief) {
			r := m.receiptLines()[4]
			m.files[newest] = []byte(strings.ReplaceAll(strings.TrimSuffix(strings.SplitN(r, `"checkpoint":"`, 2)[1], "\"}\n"), `\u000a`, "\n"))
		}, "complete runs", rollback},
		{"its size is changed", func(m *mischief) {
			m.edit(newest, "\nepoch 3\n", "\nepoch 2\n")
		}, "intact complete runs", invalid},
		{"it is signed by another key", func(m *mischief) { m.files[newest] = []byte(m.forge(m.otherKey(), nil)) }, "intact complete runs", invalid},
		{"it names another epoch than its key's", func(m *mischief) { m.thief(func(c *checkpoint.Checkpoint) { c.Epoch = 4 }) }, "intact complete runs", invalid},
		{"text stands behind it", func(m *mischief) { m.files[newest] = append(m.files[newest], "more\n"...) }, "intact complete runs", invalid},
		{"its lines end as on Windows", func(m *mischief) {
			m.files[newest] = []byte(strings.ReplaceAll(string(m.files[newest]), "\n", "\r\n"))
		}, "intact complete runs", invalid},
		{"a thief of the running key changes a line of an older epoch", func(m *mischief) {
			m.line(3, `"succeeded"`, `"failed"`)
			m.thief(nil)
		}, "intact runs", jobspec.CodeLedgerTampered},
		{"a thief of the running key removes a line of this epoch", func(m *mischief) {
			m.change(func(all []string) []string { return all[:len(all)-2] })
			m.thief(nil)
		}, "complete runs", rollback},
		{"a thief of the running key changes a line of this epoch", func(m *mischief) {
			m.line(len(m.lines())-1, `"succeeded"`, `"failed"`)
			m.thief(nil)
		}, "intact runs", jobspec.CodeLedgerTampered},
		{"and removes the receipts, and you have kept a checkpoint", func(m *mischief) {
			m.brought = []store.Witness{{Where: "what I kept", Note: string(m.files[newest])}}
			m.line(len(m.lines())-1, `"succeeded"`, `"failed"`)
			m.thief(nil)
			delete(m.files, receipts)
		}, "intact runs", jobspec.CodeLedgerTampered},
		{"it names another head of the chain", func(m *mischief) {
			m.thief(func(c *checkpoint.Checkpoint) { c.Head = jobspec.DigestOf(nil) })
		}, "intact", jobspec.CodeOpTampered},
		{"it names an op that is not there", func(m *mischief) {
			m.thief(func(c *checkpoint.Checkpoint) { c.Seq, c.Head = 9, jobspec.DigestOf(nil) })
		}, "complete", jobspec.CodeChainRollback},
		{"everything is put back to the first day, and you have kept a checkpoint", func(m *mischief) { m.back(5, 2) }, "intact runs", invalid},
		{"a receipt is edited", func(m *mischief) { m.edit(receipts, "epoch 1", "epoch 2") }, "intact runs", invalid},
		{"a receipt is of another host", func(m *mischief) { m.edit(receipts, "sbxcron-0001", "sbxcron-ffff") }, "intact runs", invalid},
	}
}

func ofEpochs() []tampering {
	const invalid = jobspec.CodeCheckpointInvalid
	join := func(m *mischief, p ...string) { m.files[epochs] = []byte(strings.Join(append(p, ""), "\n\n")) }
	return []tampering{
		{"the epochs are removed", func(m *mischief) { delete(m.files, epochs) }, "intact complete runs", invalid},
		{"the first epoch is removed", func(m *mischief) { p := m.parts(); join(m, p[2], p[3]) }, "intact complete runs", invalid},
		{"the last epoch is removed", func(m *mischief) { p := m.parts(); join(m, p[0], p[1]) }, "intact complete runs", invalid},
		{"two epochs change places", func(m *mischief) { p := m.parts(); join(m, p[2], p[3], p[0], p[1]) }, "intact complete runs", invalid},
		{"an epoch stands twice", func(m *mischief) { p := m.parts(); join(m, p[0], p[1], p[0], p[1], p[2], p[3]) }, "intact runs", invalid},
		{"the end of an epoch is signed by a later key", func(m *mischief) {
			p := m.parts()
			c, err := checkpoint.Unverified(p[0] + "\n\n" + p[1] + "\n")
			must(m.h.t, err)
			before := m.files[newest]
			m.thief(func(x *checkpoint.Checkpoint) { *x = c })
			forged := strings.Split(strings.TrimSuffix(string(m.files[newest]), "\n"), "\n\n")
			m.files[newest] = before
			join(m, forged[0], forged[1], p[2], p[3])
		}, "intact complete runs", invalid},
	}
}

func ofOutputs() []tampering {
	return []tampering{
		{"an output is edited", func(m *mischief) { m.edit(m.output(".out"), "hello", "hallo") }, "intact", jobspec.CodeStoreCorrupt},
		{"an output is removed", func(m *mischief) { delete(m.files, m.output(".out")) }, "intact", jobspec.CodeStoreCorrupt},
		{"the salts of an output are removed", func(m *mischief) { delete(m.files, m.output(".json")) }, "intact", jobspec.CodeStoreCorrupt},
		{"a note beside an output is edited", func(m *mischief) { m.edit(m.output(".json"), "a note", "no note") }, "intact", jobspec.CodeStoreCorrupt},
		{"an output and its hash are edited", func(m *mischief) {
			m.edit(m.output(".out"), "hello", "hallo")
			m.edit(m.output(".json"), `"sha256":"sha256:`, `"kept_sha256":"sha256:`)
		}, "intact", jobspec.CodeStoreCorrupt},
	}
}
