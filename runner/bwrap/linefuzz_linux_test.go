package bwrap

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
)

// operands are what bwrap's options take, by bwrap(1): N a number, F a file's
// number, H a path of the host, L the text of a link, I a path inside, W a word.
var operands = map[string]string{
	"--unshare-user": "", "--unshare-ipc": "", "--unshare-pid": "", "--unshare-net": "", "--unshare-uts": "", "--unshare-cgroup": "",
	"--disable-userns": "", "--new-session": "", "--die-with-parent": "", "--cap-drop": "W", "--uid": "N", "--gid": "N", "--hostname": "W",
	"--json-status-fd": "F", "--perms": "N", "--size": "N", "--tmpfs": "I", "--proc": "I", "--dev": "I", "--symlink": "LI",
	"--ro-bind": "HI", "--ro-bind-fd": "FI", "--bind-fd": "FI", "--ro-bind-data": "FI", "--file": "FI", "--remount-ro": "I", "--chdir": "I",
}

// readAs reads a line as bwrap does, and wants of each word what its place allows.
func readAs(words []word, p *runner.Blueprint, guards []guarded) error {
	hosts, links, places := allowed(p, guards)
	for i := 0; i < len(words); {
		option := words[i].text
		takes, known := operands[option]
		if !known || words[i].file.kind != noSource {
			return fmt.Errorf("word %d, %s, is no option of ours", i, words[i])
		}
		i++
		for _, kind := range takes {
			if i == len(words) {
				return fmt.Errorf("%s lacks an operand", option)
			}
			w := words[i]
			i++
			if (w.file.kind != noSource) != (kind == 'F') || strings.HasPrefix(w.text, "-") || strings.ContainsRune(w.text, 0) {
				return fmt.Errorf("%s takes %s for %c", option, w, kind)
			}
			switch {
			case kind == 'N' && strings.Trim(w.text, "0123456789") != "",
				kind == 'W' && w.text != "ALL" && w.text != "job",
				kind == 'H' && !slices.Contains(hosts, w.text),
				kind == 'L' && !slices.Contains(links, w.text),
				kind == 'I' && !slices.Contains(places, w.text):
				return fmt.Errorf("%s takes %q, which the plan does not name", option, w.text)
			case w.file.kind == pinSource || w.file.kind == copySource:
				if w.file.index < 0 || w.file.index >= p.Pins.Len() {
					return fmt.Errorf("%s takes pin %d of %d", option, w.file.index, p.Pins.Len())
				}
			}
		}
	}
	return nil
}

// allowed are the paths of the host, the texts of links and the places inside
// that the line of a plan may hold.
func allowed(p *runner.Blueprint, guards []guarded) (hosts, links, places []string) {
	hosts = []string{"/usr", "/proc", "/proc/sys", "/dev/null"} // and with a host that was looked at, its fixed list
	places = []string{"/", "/proc/sys", "/proc/keys", runner.StubPath, p.Cwd.Path}
	for _, m := range p.Mounts {
		places = append(places, m.Dst)
		if m.Kind == runner.Symlink {
			links = append(links, m.Src)
		}
	}
	for _, g := range guards {
		places = append(places, g.path)
	}
	return hosts, links, places
}

// proxied is added to the tier of a fuzzed case that has a network.
const proxied = 128

// Whatever stands in a spec and in the names of the host: the line holds options
// that we know, and no path of the host but the fixed ones. What a spec names
// comes as an open file.
func FuzzCommandLineNamesNothingBeyondThePlan(f *testing.F) {
	f.Add(uint8(0), "/srv/ops", "/srv/data", "/srv/ops/private", "/etc/x", "~/x", "/srv/ops/.git", "alice")
	f.Add(uint8(1), "/srv/ops", "--bind", "/", "/a/../b", "/proc/x", "--ro-bind", "--uid")
	f.Add(uint8(2), "/--bind", "/srv/--dev-bind / /", "/srv/ops\x00--bind\x00/\x00/", "/x", "/x\x00--bind", "/srv/ops/.git\x00--bind", "a\x00b")
	f.Add(uint8(2), "/srv/ops", "/usr", "/usr/bin", "/", "/usr/lib", "/usr/x", "root:x:0:0")
	f.Add(uint8(proxied+2), "/srv/ops", "/srv/data", "/srv/ops/private", "/run/db.sock", "~/db", "/srv/ops/.git", "alice")
	f.Add(uint8(proxied+1), "/srv/ops", "/srv/data", "/x", "--ro-bind", "/run/\x00--bind", "/srv/ops/.git", "alice")
	f.Fuzz(func(t *testing.T, tier uint8, cwd, read, deny, source, target, guard, user string) {
		d := newDrawing(t, jobspec.Scratch+jobspec.Tier(tier%3))
		d.Account.User = user
		if d.Tier != jobspec.Scratch {
			d.Spec.Cwd.Path = cwd
			d.pins.seen[1].Typed, d.pins.seen[1].Real = cwd, cwd
		}
		bind := jobspec.Bind{Source: source, Target: target, Mode: jobspec.BindRO, Kind: jobspec.KindDir, UID: 1000}
		d.Spec.Read, d.Spec.Deny, d.Spec.Bind = []string{read}, []string{deny}, []jobspec.Bind{bind}
		d.pin(saw(jobspec.UseRead, read, jobspec.KindDir, 80))
		d.pin(saw(jobspec.UseDeny, deny, jobspec.KindRegular, 81))
		d.pin(saw(bind.Use(), source, jobspec.KindDir, 82))
		if tier >= proxied {
			d.Net, d.Spec.NetAllow, d.Spec.Sockets = jobspec.NetProxy, []string{"example.org:443"}, []string{source}
			d.pin(saw(jobspec.UseSocket, source, jobspec.KindSocket, 83))
		}
		guards := []guarded{{path: guard}}
		p, words, err := d.line(guards...)
		if err != nil {
			return // refused is fine; what is not must be right
		}
		if err := readAs(words, p, append(guards, guarded{path: runner.ChannelPath})); err != nil {
			t.Errorf("%v\n%s", err, text(words))
		}
	})
}

// The reader above must see what is wrong.
func TestALineThatNamesMoreThanThePlanIsSeen(t *testing.T) {
	d := newDrawing(t, jobspec.ReadOnly)
	p, words, err := d.line()
	if err != nil {
		t.Fatal(err)
	}
	guards := []guarded{{path: runner.ChannelPath}}
	if err := readAs(words, p, guards); err != nil {
		t.Fatalf("a line of a plan: %v", err)
	}
	for name, more := range map[string][]word{
		"another bind":           {{text: "--ro-bind"}, {text: "/etc"}, {text: "/usr"}},
		"an option that is not":  {{text: "--dev-bind"}, {text: "/"}, {text: "/"}},
		"a path for a file":      {{text: "--bind-fd"}, {text: "/etc"}, {text: "/usr"}},
		"a place of its own":     {{text: "--tmpfs"}, {text: "/srv/other"}},
		"an option as a path":    {{text: "--tmpfs"}, {text: "--bind"}},
		"an option without more": {{text: "--uid"}},
		"a pin that is not":      {{text: "--ro-bind-fd"}, {file: source{kind: pinSource, index: 9}}, {text: "/usr"}},
	} {
		if readAs(slices.Concat(words, more), p, guards) == nil {
			t.Errorf("%s is not seen", name)
		}
	}
}
