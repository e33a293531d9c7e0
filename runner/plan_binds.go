package runner

import (
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
)

// drawBinds draws host paths at places that only the sandbox has, whose names
// nothing on the host can move. A file that is only read is the bytes that were
// approved; everything else is what the pinned descriptor is.
func (o Order) drawBinds(b *Blueprint) error {
	for _, bind := range o.Spec.Bind {
		at := bind.Inside()
		if !clean(at) {
			return refuse(jobspec.CodeBindSensitive, bind.Target, "bind target %q is no place inside", bind.Target)
		}
		if bind.Mode == jobspec.BindRW && o.Tier != jobspec.Workspace {
			return refuse(jobspec.CodeBindOverCeiling, bind.Source, "only tier workspace writes to the host")
		}
		draw := o.drawLive
		if !bind.Live() {
			draw = o.drawBytes
		}
		if err := draw(b, bind, at); err != nil {
			return err
		}
	}
	return nil
}

// drawBytes draws the approved bytes of a file at its target.
func (o Order) drawBytes(b *Blueprint, bind jobspec.Bind, at string) error {
	for _, want := range o.Spec.Bound {
		if want.Role != jobspec.RoleBind || want.Real != bind.Source {
			continue
		}
		i, ob, err := o.bound(want)
		if err != nil {
			return err
		}
		m := Mount{Kind: PinnedRO, Dst: at, Src: ob.Real, Pin: i, Size: ob.Size, What: ob.SHA256}
		if o.Pins.Sealed(i) {
			m.Kind, m.Perm = Copy, 0o555
		}
		b.mount(m)
		b.grant(at, ReadFile)
		return nil
	}
	return refuse(jobspec.CodeDriftBindSrc, bind.Source, "the bytes of bind source %q were not approved", bind.Source)
}

// drawLive draws a pinned file or folder at its target.
func (o Order) drawLive(b *Blueprint, bind jobspec.Bind, at string) error {
	i, ob, err := o.opened(bind.Use(), bind.Source)
	if err != nil {
		return err
	}
	if ob.Kind != bind.Kind || ob.Kind != jobspec.KindDir && ob.Kind != jobspec.KindRegular || ob.UID != bind.UID {
		return refuse(jobspec.CodeDriftBindSrc, bind.Source, "bind source %q is not what was approved", bind.Source)
	}
	kind, inDir, ofFile := PinnedRO, Read, ReadFile
	if bind.Mode == jobspec.BindRW {
		kind, inDir, ofFile = PinnedRW, Write, WriteFile
	}
	b.mount(Mount{Kind: kind, Dst: at, Src: ob.Real, Pin: i})
	if ob.Kind == jobspec.KindRegular {
		b.grant(at, ofFile)
		return nil
	}
	b.grant(at, inDir)
	if bind.Mode == jobspec.BindRW {
		b.Guard = append(b.Guard, Guard{Path: at, Host: ob.Real, Pin: i})
	}
	return nil
}

// drawState draws the folder that survives runs. It is private to the job, so
// nothing in it is protected: no person works there.
func (o Order) drawState(b *Blueprint) error {
	if !o.Spec.StateDir {
		return nil
	}
	i, ob, err := o.opened(jobspec.UseState, jobspec.StatePlace)
	if err != nil {
		return err
	}
	if ob.Kind != jobspec.KindDir || ob.UID != o.Account.UID {
		return refuse(jobspec.CodeStateUnusable, ob.Real, "state folder %q is not a folder of uid %d", ob.Real, o.Account.UID)
	}
	b.mount(Mount{Kind: PinnedRW, Dst: StateDir, Src: ob.Real, Pin: i})
	b.grant(StateDir, Write)
	return nil
}

// drawStateEnv tells the job where its folder is, by the name that systemd uses.
func (o Order) drawStateEnv(b *Blueprint) error {
	const name = "STATE_DIRECTORY"
	if _, set := o.Spec.Env[name]; set {
		return refuse(jobspec.CodeEnvForbidden, name, "variable %q cannot be set", name)
	}
	if o.Spec.StateDir {
		b.Env = append(b.Env, name+"="+StateDir)
		slices.Sort(b.Env)
	}
	return nil
}
