package jobspec

import "testing"

// The file system of these tests: /srv/a (10) below /srv (5) below / (2);
// the sensitive place is /home/al/.ssh (62) below /home/al (60), /home (61), / (2).
func TestPlacesAreComparedByFileAndNotByName(t *testing.T) {
	all := Itself | Contains | Below
	ssh := Sensitive{What: ".ssh", Path: "/home/al/.ssh", Reach: all, Where: at(8, 62, "8:1:/home/al/.ssh", 60, 61, 2)}
	home := Sensitive{What: "home", Path: "/home/al", Reach: Itself | Contains, Where: at(8, 60, "8:1:/home/al", 61, 2)}
	etc := Sensitive{What: "/etc", Path: "/etc", Reach: all | ReadOK, Where: at(8, 40, "8:1:/etc", 2)}
	later := Sensitive{What: ".gnupg", Path: "/home/al/.gnupg", Reach: all}
	see := func(real string, l Location) Observation { return Observation{Real: real, Kind: KindDir, Places: l} }
	below := func(l Location, roots ...string) Location { l.Below = roots; return l }
	for _, c := range []struct {
		name    string
		o       Observation
		s       Sensitive
		writing bool
		want    string
	}{
		{"elsewhere", see("/srv/a", at(8, 10, "8:1:/srv/a", 5, 2)), ssh, true, ""},
		{"itself", see("/home/al/.ssh", at(8, 62, "8:1:/home/al/.ssh", 60, 61, 2)), ssh, false, "is"},
		{"itself through a link or rename", see("/srv/a", at(8, 62, "", 5, 2)), ssh, false, "is"},
		{"itself through a bind mount", see("/srv/a", at(8, 62, "8:1:/home/al/.ssh", 5, 2)), ssh, false, "is"},
		{"a file below", see("/srv/k", at(8, 63, "", 62, 60, 61, 2)), ssh, false, "lies below"},
		{"a file below through a bind mount of the file", see("/srv/k", at(8, 63, "8:1:/home/al/.ssh/id", 5, 2)), ssh, false, "lies below"},
		{"its parent", see("/home", at(8, 61, "8:1:/home", 2)), ssh, false, "contains"},
		{"its parent through a bind mount", see("/srv/h", at(8, 61, "8:1:/home", 5, 2)), ssh, false, "contains"},
		{"a folder with the place mounted inside", see("/srv/a", below(at(8, 10, "8:1:/srv/a", 5, 2), "8:1:/home/al/.ssh")), ssh, false, "contains"},
		{"a folder with its parent mounted inside", see("/srv/a", below(at(8, 10, "8:1:/srv/a", 5, 2), "8:1:/home")), ssh, false, "contains"},
		{"a folder with a part of it mounted inside", see("/srv/a", below(at(8, 10, "8:1:/srv/a", 5, 2), "8:1:/home/al/.ssh/id")), ssh, false, "lies below"},
		{"a neighbour whose name begins alike", see("/home/al/.ssh-old", at(8, 70, "8:1:/home/al/.ssh-old", 60, 61, 2)), ssh, true, ""},
		{"same inode of another device", see("/mnt", at(9, 62, "9:1:/x", 1)), ssh, true, ""},
		{"below a home", see("/home/al/work", at(8, 71, "8:1:/home/al/work", 60, 61, 2)), home, true, ""},
		{"a home", see("/home/al", at(8, 60, "8:1:/home/al", 61, 2)), home, false, "is"},
		{"below /etc for reading", see("/etc/app", at(8, 41, "8:1:/etc/app", 40, 2)), etc, false, ""},
		{"below /etc for writing", see("/etc/app", at(8, 41, "8:1:/etc/app", 40, 2)), etc, true, "lies below"},
		{"/etc for reading", see("/etc", at(8, 40, "8:1:/etc", 2)), etc, false, "is"},
		{"the root", see("/", at(8, 2, "8:1:/")), etc, false, "contains"},
		{"a place that does not exist yet", see("/home/al/.gnupg", at(8, 80, "8:1:/home/al/.gnupg", 60, 61, 2)), later, true, "is"},
		{"above a place that does not exist yet", see("/home/al", at(8, 60, "8:1:/home/al", 61, 2)), later, true, "contains"},
		{"no place known", Observation{Real: "/srv/a"}, ssh, false, "is"},
		{"no real path", see("", at(8, 10, "8:1:/srv/a", 5, 2)), ssh, false, "is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, relation, ok := CheckPlace(c.o, []Sensitive{c.s}, c.writing)
			if relation != c.want || ok != (c.want == "") {
				t.Errorf("%q, ok %v, want %q", relation, ok, c.want)
			}
		})
	}
}

func TestEveryPlaceOfTheListIsLookedAt(t *testing.T) {
	places := testSensitive()
	o := Observation{Real: "/srv/x", Places: at(8, 62, "", 60, 2)}
	hit, _, ok := CheckPlace(o, places, false)
	if ok || hit.What != ".ssh of alice" {
		t.Errorf("hit %+v, ok %v", hit, ok)
	}
}
