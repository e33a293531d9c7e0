package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// mount is one mounted hierarchy, from mountinfo (proc(5)).
type mount struct {
	point, root string
	v2          bool
	controllers []string // of version 1
}

// readMounts lists the hierarchies.
func readMounts() ([]mount, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	return parseMounts(string(text)), nil
}

// parseMounts reads lines of the form
// "ID PARENT MAJ:MIN ROOT POINT OPTIONS [FIELDS] - TYPE SOURCE SUPEROPTIONS".
func parseMounts(text string) []mount {
	var all []mount
	for line := range strings.Lines(text) {
		left, right, ok := strings.Cut(strings.TrimSpace(line), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 6 || len(r) < 3 {
			continue
		}
		m := mount{root: unescape(l[3]), point: unescape(l[4])}
		switch r[0] {
		case "cgroup2":
			m.v2 = true
		case "cgroup":
			m.controllers = strings.Split(r[2], ",")
		default:
			continue
		}
		all = append(all, m)
	}
	return all
}

// unescape undoes what mountinfo does to blanks and backslashes.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// readOwn reads where the service is: a path for each controller of version 1,
// and one under "" for version 2 (cgroups(7)). It asks for this thread and keeps
// it until it has read: the thread that /proc/self stands for may be in a leaf
// just now, and so may one that another goroutine gets after the file is opened.
func readOwn() (map[string]string, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	text, err := os.ReadFile("/proc/thread-self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("find own cgroup: %w", err)
	}
	return parseOwn(string(text)), nil
}

func parseOwn(text string) map[string]string {
	own := map[string]string{}
	for line := range strings.Lines(text) {
		part := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(part) != 3 {
			continue
		}
		for name := range strings.SplitSeq(part[1], ",") {
			own[name] = part[2]
		}
	}
	return own
}

// folder is where a path of the hierarchy lies below the mount, "" where it
// does not: a container may see only a part.
func (m mount) folder(path string) string {
	rel, err := filepath.Rel(m.root, path)
	if err != nil || path == "" || rel == ".." || strings.HasPrefix(rel, "../") {
		return ""
	}
	return filepath.Join(m.point, rel)
}

// has reports whether a hierarchy of version 1 has a controller.
func (m mount) has(controller string) bool { return slices.Contains(m.controllers, controller) }
