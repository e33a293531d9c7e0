package jobspec

import "strings"

// CheckPlace compares what was opened with the places that no job gets. It
// returns the first that is in reach and how, or ok. Files are compared by
// device and inode, and by their path within the file system, so that symbolic
// links, bind mounts and renames change nothing; places that do not exist yet
// are compared by name. An observation whose place is unknown is not ok.
func CheckPlace(o Observation, places []Sensitive, writing bool) (hit Sensitive, relation string, ok bool) {
	if o.Places.Self == (FileID{}) || o.Real == "" {
		return Sensitive{What: "a place that could not be told"}, "is", false
	}
	for i := range places { // hundreds, for each path of each trigger: nothing is copied
		if relation := reaches(&o, &places[i], writing); relation != "" {
			return places[i], relation, false
		}
	}
	return Sensitive{}, "", true
}

// reaches says how o is in reach of s: "is", "contains", "lies below", or "".
func reaches(o *Observation, s *Sensitive, writing bool) string {
	if sameFile(o.Places.Self, s.Where.Self) || samePath(o.Places.Device, s.Where.Device) || samePath(o.Real, s.Path) {
		return "is"
	}
	if s.Reach&Contains != 0 && contains(o, s) {
		return "contains"
	}
	below := s.Reach&Below != 0 && (writing || s.Reach&ReadOK == 0)
	if below && liesBelow(o, s) {
		return "lies below"
	}
	return ""
}

// contains also looks at what is mounted below o: a bind mount there may show
// the place, or a folder around it.
func contains(o *Observation, s *Sensitive) bool {
	if hasFile(s.Where.Ancestors, o.Places.Self) || pathBelow(s.Where.Device, o.Places.Device) || pathBelow(s.Path, o.Real) {
		return true
	}
	for _, root := range o.Places.Below {
		if samePath(root, s.Where.Device) || pathBelow(s.Where.Device, root) {
			return true
		}
	}
	return false
}

// liesBelow also refuses a folder into which a part of the place is mounted.
func liesBelow(o *Observation, s *Sensitive) bool {
	if hasFile(o.Places.Ancestors, s.Where.Self) || pathBelow(o.Places.Device, s.Where.Device) || pathBelow(o.Real, s.Path) {
		return true
	}
	for _, root := range o.Places.Below {
		if pathBelow(root, s.Where.Device) {
			return true
		}
	}
	return false
}

func sameFile(a, b FileID) bool { return a != FileID{} && a == b }

func hasFile(ids []FileID, id FileID) bool {
	for _, i := range ids {
		if sameFile(i, id) {
			return true
		}
	}
	return false
}

func samePath(a, b string) bool {
	return a != "" && b != "" && strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// pathBelow compares by component: /srv/w-evil does not lie below /srv/w.
func pathBelow(p, dir string) bool {
	if p == "" || dir == "" {
		return false
	}
	p, dir = strings.TrimSuffix(p, "/"), strings.TrimSuffix(dir, "/")
	return len(p) > len(dir) && p[len(dir)] == '/' && strings.HasPrefix(p, dir)
}

// pathWithin reports whether p is dir or lies below it.
func pathWithin(p, dir string) bool { return samePath(p, dir) || pathBelow(p, dir) }
