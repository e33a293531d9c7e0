package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/canon"
)

// changedKeys names what differs between the op in force and the one that a file
// would make now: keys of the spec, tier, net, and "expires" where the approval
// would hold for another span. What follows from the time of signing alone is no
// difference: the day of the end, the policy of then, answers, and what was shown.
func changedKeys(was, is *jobspec.Op) ([]string, error) {
	old, err := specKeys(was.Spec)
	if err != nil {
		return nil, err
	}
	now, err := specKeys(is.Spec)
	if err != nil {
		return nil, err
	}
	var keys []string
	for k, v := range now {
		if !bytes.Equal(old[k], v) {
			keys = append(keys, k)
		}
	}
	for k := range old {
		if _, kept := now[k]; !kept {
			keys = append(keys, k)
		}
	}
	if was.Tier != is.Tier {
		keys = append(keys, "tier")
	}
	if was.Net != is.Net {
		keys = append(keys, "net")
	}
	if approvedFor(was) != approvedFor(is) {
		keys = append(keys, "expires")
	}
	slices.Sort(keys)
	return keys, nil
}

func approvedFor(op *jobspec.Op) time.Duration {
	return op.Spec.ExpiresAt.Time().Sub(op.Created.Time())
}

// specKeys are the members of a spec in their signed form, without those that the
// time of signing decides.
func specKeys(s *jobspec.Spec) (map[string]json.RawMessage, error) {
	own := *s
	own.ExpiresAt, own.Answers, own.Policy, own.Coverage = jobspec.Instant{}, nil, jobspec.PolicyDigests{}, nil
	own.Schedule.Words = ""
	raw, err := canon.Marshal(&own)
	if err != nil {
		return nil, fmt.Errorf("encode spec: %w", err)
	}
	keys := map[string]json.RawMessage{}
	return keys, json.Unmarshal(raw, &keys)
}

// wordDiff are the lines of the two summaries that are not in both, the old ones
// with "-", the new ones with "+".
func wordDiff(was, is *jobspec.Op) []string {
	old, now := whatMatters(was), whatMatters(is)
	var diff []string
	for _, l := range old {
		if !slices.Contains(now, l) {
			diff = append(diff, "- "+l)
		}
	}
	for _, l := range now {
		if !slices.Contains(old, l) {
			diff = append(diff, "+ "+l)
		}
	}
	for _, c := range jobspec.Changes(was.Spec, is.Spec) {
		diff = append(diff, c.Lines()...)
	}
	return diff
}

// whatMatters is a summary without its head: which op it is, and when it may be
// applied, differs always.
func whatMatters(op *jobspec.Op) []string {
	return slices.DeleteFunc(jobspec.Summary(op), func(l string) bool {
		return strings.HasPrefix(l, "action:") || strings.HasPrefix(l, "signer:") || strings.HasPrefix(l, "apply:")
	})
}
