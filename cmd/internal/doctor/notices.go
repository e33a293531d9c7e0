package doctor

import "fmt"

// notices looks at whether anybody is told when a job stops.
func notices(f NoticeFact) []Check {
	const name = "notices"
	switch {
	case !f.Asked:
		return nil
	case f.Err != nil:
		return []Check{fail(name, f.Err.Error(), "repair notify.toml; sbxcron notify check tells every fault")}
	case f.Channels == 0:
		return []Check{warn(name, "nobody is told when a job stops", "write notify.toml as docs/notices.md shows, and try it with sbxcron notify test")}
	}
	return []Check{ok(name, fmt.Sprintf("%d channels; sbxcron notify test tries one", f.Channels))}
}
