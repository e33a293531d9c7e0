package examine

import (
	"context"
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/pin"
)

// findBinds looks at the sources of binds, with the rights of the job's account,
// and hashes those whose bytes become part of the approval.
func (x *Examiner) findBinds(ctx context.Context, acct pin.Account, binds []jobspec.Bind, where string, f *jobspec.Facts) error {
	for _, b := range binds {
		b.Source = absolute(b.Source, where)
		b, err := findBind(ctx, acct, b)
		if err != nil {
			return err
		}
		f.Bind = append(f.Bind, b)
		if b.Live() || bindsAlready(f.Bound, b.Source) {
			continue
		}
		bound, _, err := x.bindOne(ctx, acct, jobspec.BindTarget{Role: jobspec.RoleBind, Typed: b.Source}, "/", false)
		if err != nil {
			return err
		}
		f.Bound = append(f.Bound, bound)
	}
	return nil
}

// bindsAlready reports whether an earlier bind has the same file.
func bindsAlready(bound []jobspec.Bound, source string) bool {
	return slices.ContainsFunc(bound, func(b jobspec.Bound) bool { return b.Role == jobspec.RoleBind && b.Real == source })
}

// findBind fills kind and owner of a bind's source.
func findBind(ctx context.Context, acct pin.Account, b jobspec.Bind) (jobspec.Bind, error) {
	set, err := pin.Open(ctx, acct, []pin.Request{{Use: b.Use(), Path: b.Source}}, pin.Options{})
	if err != nil {
		return b, err
	}
	defer set.Close()
	seen := set.Observation(0)
	if seen.Problem != "" {
		return b, unusable("bind", b.Source, seen.Problem, seen.Detail)
	}
	b.Kind, b.UID = seen.Kind, seen.UID
	return b, nil
}
