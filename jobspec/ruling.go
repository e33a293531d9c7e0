package jobspec

import "slices"

// ruled is what the rules of a policy say about the segments of a command.
type ruled struct {
	findings []finding
	unlisted map[string][]string // by managed file with a list: the first segment that no rule of it allows
}

// judgeRules holds every rule against every segment: any deny denies and any ask
// asks, but an allow counts only where each segment has one of the same file.
func judgeRules(p *Policy, segments []segment, root string) ruled {
	out := ruled{unlisted: map[string][]string{}}
	for _, s := range segments {
		for _, r := range p.Rules {
			if r.Effect == string(effectAllow) {
				continue
			}
			if f, hit := r.finds(s, root); hit {
				out.findings = append(out.findings, f)
			}
		}
		if p.UnmatchedCommands == unmatchedAsk && !s.builtin && !allowedAnywhere(p, s, root) {
			out.findings = append(out.findings, finding{effect: effectAsk, code: CodeCmdAskUnanswered, layer: LayerManaged,
				rule: "unmatched_commands", text: "no rule of the policy allows this part of the command", words: s.words})
		}
		for _, file := range p.ManagedOnly.lists() {
			if out.unlisted[file] == nil && !s.builtin && !allowedIn(p, file, s, root) {
				out.unlisted[file] = s.words
			}
		}
	}
	return out
}

// finds judges one segment by a rule that denies or asks. A rule that would deny
// the words behind another program asks there: the program may start them.
func (r Rule) finds(s segment, root string) (finding, bool) {
	f := finding{effect: effectDeny, code: CodeCmdDeniedRule, layer: orElse(r.Layer, LayerManaged), rule: r.ID, text: r.text(), words: s.words}
	if r.Effect == string(effectAsk) {
		f.effect, f.code = effectAsk, CodeCmdAskUnanswered
	}
	if r.matches(s, root) {
		return f, true
	}
	if r.Effect != string(effectDeny) || r.Name == "" {
		return finding{}, false
	}
	for i := 1; i < len(s.words); i++ {
		behind := segment{words: s.words[i:], at: s.at, inText: s.inText}
		if slices.Contains(names(s.words[i]), r.Name) && r.matches(behind, root) {
			f.effect, f.code, f.text = effectAsk, CodeCmdAskUnanswered, "the command names what a rule denies: "+f.text
			return f, true
		}
	}
	return finding{}, false
}

// allowedAnywhere reports whether a rule of any layer allows a segment.
func allowedAnywhere(p *Policy, s segment, root string) bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Effect == string(effectAllow) && r.matches(s, root) })
}

// allowedIn reports whether a managed file has a rule that allows a segment.
func allowedIn(p *Policy, file string, s segment, root string) bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool {
		managed := orElse(r.Layer, LayerManaged) == LayerManaged
		return r.Effect == string(effectAllow) && r.File == file && managed && r.matches(s, root)
	})
}
