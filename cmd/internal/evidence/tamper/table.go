package tamper

import (
	"slices"
	"strings"
)

// Tampering is something that can be done to a bundle.
type Tampering struct {
	Name string
	do   func(Files) bool // false: there is nothing that it could be done to
}

// Table is all that is tried.
func Table() []Tampering { return slices.Concat(ofOps(), ofLines(), ofNotes(), ofTheRest()) }

func ofOps() []Tampering {
	pick := func(do func(f Files, ops []string) bool) func(Files) bool {
		return func(f Files) bool {
			ops := f.names("ops/", ".json")
			return len(ops) > 1 && do(f, ops)
		}
	}
	last := func(ops []string) string { return ops[len(ops)-1] }
	return []Tampering{
		{"a byte of genesis is changed", func(f Files) bool { return f.replace("ops/op-000000.json", `"created":"20`, `"created":"21`) }},
		{"genesis is removed", pick(func(f Files, ops []string) bool { return f.drop(ops[0], ops[0]+".sig") })},
		{"a byte of the last op is changed", pick(func(f Files, ops []string) bool { return f.replace(last(ops), `"created":"20`, `"created":"21`) })},
		{"the tier of an op is raised", func(f Files) bool {
			return slices.ContainsFunc(f.names("ops/", ".json"), func(n string) bool {
				return f.replace(n, `"tier":"scratch"`, `"tier":"workspace"`) || f.replace(n, `"tier":"read-only"`, `"tier":"workspace"`)
			})
		}},
		{"an op is spelled otherwise", pick(func(f Files, ops []string) bool { return f.replace(last(ops), `,"seq"`, `, "seq"`) })},
		{"the last op is removed", pick(func(f Files, ops []string) bool { return f.drop(last(ops), last(ops)+".sig") })},
		{"an op in the middle is removed", pick(func(f Files, ops []string) bool { return len(ops) > 2 && f.drop(ops[1], ops[1]+".sig") })},
		{"all ops are removed", func(f Files) bool { return f.drop(f.names("ops/", "")...) }},
		{"two ops change places", pick(func(f Files, ops []string) bool {
			for _, end := range []string{"", ".sig"} {
				f[ops[0]+end], f[last(ops)+end] = f[last(ops)+end], f[ops[0]+end]
			}
			return true
		})},
		{"an op has no signature", pick(func(f Files, ops []string) bool { return f.drop(last(ops) + ".sig") })},
		{"an op has the signature of another", pick(func(f Files, ops []string) bool { f[last(ops)+".sig"] = f[ops[0]+".sig"]; return true })},
		{"text stands behind a signature", pick(func(f Files, ops []string) bool {
			f[last(ops)+".sig"] = append(f[last(ops)+".sig"], "more\n"...)
			return true
		})},
	}
}

func ofLines() []Tampering {
	lines := func(name string, change func(all []string) []string) Tampering {
		return Tampering{name, func(f Files) bool { return f.proven(change) }}
	}
	edit := func(name, from, to string) Tampering {
		return lines(name, func(all []string) []string {
			i := slices.IndexFunc(all, func(l string) bool { return strings.Contains(l, from) })
			if i < 0 {
				return nil
			}
			all[i] = strings.Replace(all[i], from, to, 1)
			return all
		})
	}
	return []Tampering{
		edit("a time is changed", `"time":"20`, `"time":"21`),
		edit("a success becomes a failure", `"outcome":"succeeded"`, `"outcome":"failed"`),
		edit("a denied run becomes a success", `"outcome":"denied"`, `"outcome":"succeeded"`),
		edit("a refusal becomes a success", `"outcome":"refused"`, `"outcome":"succeeded"`),
		edit("a line is spelled otherwise", `,"kind"`, `, "kind"`),
		lines("the first line is removed", func(all []string) []string { return append([]string{}, all[1:]...) }),
		lines("a line in the middle is removed", func(all []string) []string { return slices.Delete(all, len(all)/2, len(all)/2+1) }),
		lines("the last line that is vouched for is removed", func(all []string) []string { return all[:len(all)-1] }),
		lines("all lines are removed", func([]string) []string { return []string{} }),
		lines("a line stands twice", func(all []string) []string { return slices.Insert(all, len(all)/2, all[len(all)/2]) }),
		lines("two lines change places", func(all []string) []string {
			if len(all) < 2 {
				return nil
			}
			all[0], all[len(all)-1] = all[len(all)-1], all[0]
			return all
		}),
		lines("an empty line is put in", func(all []string) []string { return slices.Insert(all, len(all)/2, "\n") }),
		lines("lines end as on Windows", func(all []string) []string {
			for i := range all {
				all[i] = strings.TrimSuffix(all[i], "\n") + "\r\n"
			}
			return all
		}),
	}
}

func ofNotes() []Tampering {
	parts := func(change func(p []string) []string) func(Files) bool {
		return func(f Files) bool {
			p := strings.Split(strings.TrimSuffix(string(f[epochs]), "\n\n"), "\n\n")
			if len(p) < 2 {
				return false
			}
			f[epochs] = []byte(strings.Join(append(change(p), ""), "\n\n"))
			return true
		}
	}
	return []Tampering{
		{"the newest checkpoint is removed", func(f Files) bool { return f.drop(newest) }},
		{"its text is changed", func(f Files) bool { return f.replace(newest, "\ntime 20", "\ntime 21") }},
		{"it names another epoch", func(f Files) bool { return f.replace(newest, "\nepoch ", "\nepoch 1") }},
		{"text stands behind it", func(f Files) bool {
			if len(f[newest]) == 0 {
				return false
			}
			f[newest] = append(f[newest], "more\n"...)
			return true
		}},
		{"a receipt is edited", func(f Files) bool { return f.replace(receipts, `time 20`, `time 21`) }},
		{"the epochs are removed", func(f Files) bool { return f.drop(epochs) }},
		{"the first epoch is removed", parts(func(p []string) []string { return p[2:] })},
		{"an epoch stands twice", parts(func(p []string) []string { return append(p[:2:2], p...) })},
	}
}

func ofTheRest() []Tampering {
	each := func(begin, end string, do func(Files, string) bool) func(Files) bool {
		return func(f Files) bool {
			done := false
			for _, n := range f.names(begin, end) {
				done = do(f, n) || done
			}
			return done
		}
	}
	remove := func(f Files, n string) bool { return f.drop(n) }
	add := func(f Files, n string) bool { f[n] = append(f[n], "# more\n"...); return true }
	const lists, outputs = "state/trust/allowed_signers.", "state/output/"
	return []Tampering{
		{"the lists of signers are edited", each(lists, "", add)},
		{"the lists of signers are removed", each(lists, "", remove)},
		{"what jobs wrote is edited", each(outputs, ".out", add)},
		{"what jobs wrote is removed", each(outputs, ".out", remove)},
		{"the salts of outputs are removed", each(outputs, ".json", remove)},
	}
}
