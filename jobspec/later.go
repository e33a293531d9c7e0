package jobspec

import "slices"

// laterField is a field that is parsed, signed and shown, and whose work this
// version does not do. It is refused by name, never ignored. Building the work
// deletes the row.
type laterField struct {
	name string
	used func(op *Op) bool
}

func laterTable() []laterField {
	return []laterField{
		{"backend.any_of other than bwrap and landlock", otherBackend},
		{"backend.devices", func(op *Op) bool { return len(op.Spec.Backend.Devices) > 0 }},
		{"backend.image", func(op *Op) bool { return op.Spec.Backend.Image != "" }},
		{"backend.host", func(op *Op) bool { return op.Spec.Backend.Host != "" }},
		{"backend.user", func(op *Op) bool { return op.Spec.Backend.User != "" }},
		{"backend.port", func(op *Op) bool { return op.Spec.Backend.Port != 0 }},
	}
}

// otherBackend leaves out the words that mean no sandbox: those will never be
// built, and have a refusal of their own.
func otherBackend(op *Op) bool {
	return slices.ContainsFunc(op.Spec.Backend.AnyOf, func(b string) bool { return !slices.Contains(Backends(), b) && !isNoBackend(b) })
}

// LaterFields names the fields of the table by their keys in job.toml, some with
// the values that are meant.
func LaterFields() []string {
	var all []string
	for _, f := range laterTable() {
		all = append(all, f.name)
	}
	return all
}
