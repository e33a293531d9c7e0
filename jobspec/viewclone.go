package jobspec

// Clone is a view that can be extended without the other one seeing it: several
// ops are judged one after the other on it before the first is put in force.
func (v *View) Clone() *View {
	out := *v
	out.jobs = make(map[Name]*Job, len(v.jobs))
	for name, j := range v.jobs {
		own := *j
		out.jobs[name] = &own
	}
	return &out
}
