package pin

import (
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

// What Open observes and what SensitivePlaces gathers fit together: the same
// comparison as in a decision finds every way to a place that no job gets.
func TestOpenedPathsInReachOfASensitivePlaceAreFound(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/root/conf/sub/f", "", 0o644)
	put(t, dir+"/root/work/f", "", 0o644)
	put(t, dir+"/keys/id", "", 0o600)
	put(t, dir+"/homes/u/.config/systemd/user/x", "", 0o644)
	put(t, dir+"/homes/u/project/f", "", 0o644)
	passwd := put(t, dir+"/passwd", "u:x:1:1::"+dir+"/homes/u:/bin/sh\n", 0o644)
	places, err := SensitivePlaces(SensitiveOptions{
		Conf: []string{dir + "/root/conf"}, State: []string{dir + "/root/state"},
		KeyFiles: []string{dir + "/keys/id"}, Binary: "/usr/bin/env", Bwrap: "/usr/bin/bwrap", Passwd: passwd,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path    string
		writing bool
		want    string
	}{
		{dir + "/root/conf", false, "is"},
		{dir + "/root", false, "contains"},
		{dir, false, "contains"},
		{dir + "/root/conf/sub", false, "lies below"},
		{dir + "/root/work", true, ""},
		{dir + "/keys", false, "contains"},
		{dir + "/homes/u", false, "is"},
		{dir + "/homes", false, "contains"},
		{dir + "/homes/u/project", true, ""},
		{dir + "/homes/u/.config", false, "contains"},
		{dir + "/homes/u/.config/systemd/user", false, "lies below"},
		{"/", false, "contains"},
		{"/etc", false, "is"},
		{"/etc/alternatives", false, ""},
		{"/etc/alternatives", true, "lies below"},
		{"/usr", false, "contains"},
		{"/usr/bin", false, "contains"},
		{"/usr/share", false, ""},
		{"/proc/sys", false, "lies below"},
		{"/dev", false, "is"},
	} {
		seen := open(t, here(), Options{}, Request{Use: jobspec.UseCwd, Path: c.path}).Observation(0)
		if seen.Problem != "" {
			t.Errorf("%q: %s", c.path, seen.Detail)
			continue
		}
		hit, relation, ok := jobspec.CheckPlace(seen, places, c.writing)
		if relation != c.want || ok != (c.want == "") {
			t.Errorf("%q, writing %v: %q %q, want %q", c.path, c.writing, relation, hit.What, c.want)
		}
	}
}
