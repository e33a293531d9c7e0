package pin

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"
)

// installation is a home with a folder, a link to one, and what is told of them.
func installation(t *testing.T) (string, SensitiveOptions) {
	t.Helper()
	d := t.TempDir()
	for _, dir := range []string{"home/.ssh", "home/.config", "elsewhere/aws", "conf"} {
		if err := os.MkdirAll(filepath.Join(d, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(d, "elsewhere/aws"), filepath.Join(d, "home/.aws")); err != nil {
		t.Fatal(err)
	}
	passwd := filepath.Join(d, "passwd")
	if err := os.WriteFile(passwd, []byte("u:x:1:1::"+filepath.Join(d, "home")+":/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return d, SensitiveOptions{Conf: []string{filepath.Join(d, "conf")}, State: []string{filepath.Join(d, "later/state")}, Passwd: passwd}
}

// Whatever is done to the places, what is remembered is what would be found anew.
func TestRememberedPlacesAreThoseThatWouldBeFound(t *testing.T) {
	for name, do := range map[string]func(d string) error{
		"nothing":              func(string) error { return nil },
		"a place comes":        func(d string) error { return os.Mkdir(filepath.Join(d, "home/.gnupg"), 0o755) },
		"a place goes":         func(d string) error { return os.Remove(filepath.Join(d, "home/.ssh")) },
		"a place below comes":  func(d string) error { return os.Mkdir(filepath.Join(d, "home/.config/gh"), 0o755) },
		"a folder above comes": func(d string) error { return os.MkdirAll(filepath.Join(d, "later/state"), 0o755) },
		"another takes a name": func(d string) error { return swap(d, "home/.ssh", "conf") },
		"another home":         func(d string) error { return swap(d, "home", "elsewhere") },
		"a link leads away":    func(d string) error { return relink(d, "home/.aws", "conf") },
		"the end of a link":    func(d string) error { return swap(d, "elsewhere/aws", "home/.config") },
		"a folder on the way":  func(d string) error { return swap(d, "elsewhere", "conf") },
		"a place becomes a link": func(d string) error {
			if err := os.Remove(filepath.Join(d, "home/.ssh")); err != nil {
				return err
			}
			return os.Symlink("/etc", filepath.Join(d, "home/.ssh"))
		},
		"another account": func(d string) error {
			return os.WriteFile(filepath.Join(d, "passwd"), []byte("u:x:1:1::"+filepath.Join(d, "conf")+":/bin/sh\n"), 0o644)
		},
		"not to be entered": func(d string) error { return os.Chmod(filepath.Join(d, "home"), 0) },
	} {
		for _, old := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				d, o := installation(t)
				t.Cleanup(func() { os.Chmod(filepath.Join(d, "home"), 0o755) })
				var p Places
				check := func(when string) {
					t.Helper()
					got, err := p.Sensitive(o)
					if err != nil {
						t.Fatal(err)
					}
					want, err := SensitivePlaces(o)
					if err != nil {
						t.Fatal(err)
					}
					if !reflect.DeepEqual(got, want) {
						t.Errorf("%s: remembered places differ from those that are found", when)
					}
				}
				check("at first")
				if p.last == nil {
					t.Fatal("nothing is remembered")
				}
				if old { // as if nothing had changed for long: only the stamps tell
					for _, f := range p.last.folders {
						f.sure = true
					}
				}
				if err := do(d); err != nil {
					t.Fatal(err)
				}
				check("after it")
				check("and again")
			})
		}
	}
}

// swap exchanges two names.
func swap(d, a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, filepath.Join(d, a), unix.AT_FDCWD, filepath.Join(d, b), unix.RENAME_EXCHANGE)
}

func relink(d, link, to string) error {
	if err := os.Remove(filepath.Join(d, link)); err != nil {
		return err
	}
	return os.Symlink(filepath.Join(d, to), filepath.Join(d, link))
}

// A stamp of this very moment is worth nothing: a name can come in the same tick.
func TestAFolderThatChangedJustNowIsAskedForEachName(t *testing.T) {
	d, o := installation(t)
	var p Places
	if _, err := p.Sensitive(o); err != nil {
		t.Fatal(err)
	}
	f := p.last.folders[filepath.Join(d, "home")]
	if f.sure || len(f.names) < 20 {
		t.Errorf("sure %v with %d names", f.sure, len(f.names))
	}
}

func TestAnotherListOfMountsIsGatheredAnew(t *testing.T) {
	_, o := installation(t)
	var p Places
	first, err := p.Sensitive(o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Sensitive(o)
	if err != nil || &again[0] != &first[0] {
		t.Errorf("gathered anew without a cause, %v", err)
	}
	p.last.mounts = append(p.last.mounts, '\n')
	if again, err = p.Sensitive(o); err != nil || &again[0] == &first[0] {
		t.Errorf("still the old list, %v", err)
	}
}

func BenchmarkRememberedPlaces(b *testing.B) {
	var none *Places
	for name, p := range map[string]*Places{"anew": none, "remembered": {}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := p.Sensitive(SensitiveOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
