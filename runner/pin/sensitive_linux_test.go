package pin

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

func TestSensitivePlacesAreAllGathered(t *testing.T) {
	dir := folder(t)
	passwd := put(t, dir+"/passwd", "alice:x:1:1::"+dir+"/alice:/bin/sh\nbroken\ntwin:x:2:2::"+dir+"/alice/:/bin/sh\n"+
		"gone:x:3:3::/nonexistent:/bin/false\nempty:x:4:4:::/bin/false\n", 0o644)
	put(t, dir+"/alice/.ssh/id", "", 0o600)
	key := put(t, dir+"/key", "", 0o600)
	all, err := SensitivePlaces(SensitiveOptions{
		Conf: []string{dir + "/conf", "/etc/sbxcron"}, State: []string{dir + "/state"}, Run: []string{"", dir + "/run"},
		KeyFiles: []string{key}, Binary: "/usr/bin/env", Bwrap: "/usr/bin/bwrap", Passwd: passwd,
	})
	if err != nil {
		t.Fatal(err)
	}
	byPath := map[string]jobspec.Sensitive{}
	for _, s := range all {
		byPath[s.Path] = s
	}
	whole := jobspec.Itself | jobspec.Contains | jobspec.Below
	for path, want := range map[string]jobspec.Reach{
		dir + "/conf": whole, "/etc/sbxcron": whole, dir + "/state": whole, dir + "/run": whole,
		"/boot": whole, "/dev": whole, "/proc": whole, "/run": whole | jobspec.SocketOK, "/run/docker.sock": whole, "/run/dbus": whole, "/run/systemd": whole, "/sys": whole,
		"/etc": whole | jobspec.ReadOK, "/etc/shadow": whole, "/etc/gshadow": whole, "/etc/sudoers": whole,
		"/etc/sudoers.d": whole, "/etc/ssh": whole, "/etc/ssl/private": whole,
		"/": alone, key: alone, "/usr/bin/env": alone, "/usr/bin/bwrap": alone,
		dir + "/alice": alone, "/nonexistent": alone, dir + "/alice/.ssh": whole, dir + "/alice/.config/gh": whole,
		dir + "/alice/.bashrc": whole, dir + "/alice/.config/systemd": whole, "/nonexistent/.gnupg": whole,
	} {
		s, ok := byPath[path]
		if !ok || s.Reach != want || s.What == "" {
			t.Errorf("%q: %+v, want reach %b", path, s, want)
		}
	}
	if _, ok := byPath[""]; ok {
		t.Error("an empty name became a place")
	}
	checkWhere(t, byPath[dir+"/alice/.ssh"], byPath[dir+"/alice/.aws"], byPath[dir+"/alice"])
}

// checkWhere: what exists is known by inode, what does not by where it would lie.
func checkWhere(t *testing.T, there, missing, home jobspec.Sensitive) {
	t.Helper()
	at, err := located(there.Path)
	if err != nil || at.Self != there.Where.Self || !slices.Contains(there.Where.Ancestors, home.Where.Self) {
		t.Errorf("%q: %+v, %v", there.Path, there.Where, err)
	}
	w := missing.Where
	if w.Self != (jobspec.FileID{}) || w.Device != home.Where.Device+"/.aws" || w.Ancestors[0] != home.Where.Self {
		t.Errorf("%q: %+v", missing.Path, w)
	}
}

func TestPlacesThatTheGathererCannotSeeAreKept(t *testing.T) {
	asUser(t)
	home := folder(t)
	put(t, home+"/u/.ssh/id", "", 0o600)
	mode(t, home+"/u", 0)
	t.Cleanup(func() { os.Chmod(home+"/u", 0o700) })
	passwd := put(t, home+"/passwd", "u:x:1:1::"+home+"/u:/bin/sh\n", 0o644)
	all, err := SensitivePlaces(SensitiveOptions{Passwd: passwd})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(s jobspec.Sensitive) bool { return s.Path == home+"/u/.ssh" })
	if i < 0 || !strings.HasSuffix(all[i].Where.Device, "/u/.ssh") {
		t.Errorf("%d", i)
	}
}

func TestMissingPasswdFileIsAnError(t *testing.T) {
	if _, err := SensitivePlaces(SensitiveOptions{Passwd: t.TempDir() + "/none"}); err == nil {
		t.Error("homes of nobody")
	}
}

func TestLocateFollowsLinksToThePlace(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/real/f", "", 0o644)
	for _, pair := range [][2]string{
		{link(t, dir+"/real", dir+"/l"), dir + "/real"},
		{dir + "/l/f", dir + "/real/f"},
		{"/", "/"},
	} {
		a, err := located(pair[0])
		if err != nil {
			t.Fatal(err)
		}
		b, err := located(pair[1])
		if err != nil || a.Self != b.Self || a.Device != b.Device {
			t.Errorf("%q: %+v, %q: %+v, %v", pair[0], a, pair[1], b, err)
		}
	}
	root, err := located("/")
	if err != nil || len(root.Ancestors) != 0 || !strings.HasSuffix(root.Device, ":/") {
		t.Errorf("/: %+v, %v", root, err)
	}
	if _, err := located(dir + "/none"); !os.IsNotExist(err) {
		t.Errorf("missing: %v", err)
	}
}
