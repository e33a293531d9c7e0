package pin

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
)

// mount is one row of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type mount struct {
	dev    string // "major:minor"
	root   string // the directory of its file system that is mounted
	point  string // where
	fstype string
}

// mounts are the mounts of this process, by mount id.
type mounts map[uint64]mount

func readMounts() (mounts, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMounts(raw)
}

func parseMounts(raw []byte) (mounts, error) {
	table := mounts{}
	for line := range bytes.Lines(raw) {
		id, m, err := parseMount(strings.TrimSuffix(string(line), "\n"))
		if err != nil {
			return nil, err
		}
		table[id] = m
	}
	return table, nil
}

// parseMount reads "id parent major:minor root point options [tags] - type ...".
func parseMount(line string) (uint64, mount, error) {
	front, back, ok := strings.Cut(line, " - ")
	f := strings.Fields(front)
	kind, _, _ := strings.Cut(back, " ")
	if !ok || len(f) < 6 {
		return 0, mount{}, fmt.Errorf("mountinfo: line %q has another form", line)
	}
	id, err := strconv.ParseUint(f[0], 10, 64)
	if err != nil {
		return 0, mount{}, fmt.Errorf("mountinfo: line %q: %w", line, err)
	}
	return id, mount{dev: f[2], root: unescape(f[3]), point: unescape(f[4]), fstype: kind}, nil
}

// unescape undoes the kernel's octal form of space, tab, line end and backslash.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// device is the place of an absolute path within the file system of mount id:
// the same for every mount of that file system. ok is false when the mount is
// not one of ours or does not lead to the path.
func (t mounts) device(id uint64, at string) (string, bool) {
	m, ok := t[id]
	if !ok {
		return "", false
	}
	rest, ok := below(m.point, at)
	if !ok {
		return "", false
	}
	return m.form(rest), true
}

func (m mount) form(rest string) string { return m.dev + ":" + path.Join(m.root, rest) }

// under are the device forms of everything mounted below an absolute path.
func (t mounts) under(at string) []string {
	var all []string
	for _, m := range t {
		if rest, ok := below(at, m.point); ok && rest != "" {
			all = append(all, m.form(""))
		}
	}
	return all
}

// below gives the rest of path beneath dir, component by component, so that
// /srv/w does not hold /srv/w-evil.
func below(dir, p string) (rest string, ok bool) {
	if dir == p {
		return "", true
	}
	return strings.CutPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// local names the file systems that keep an inode as the kernel left it and
// that only root can mount into our view. On all others (FUSE, network, 9p) the
// server decides owner, mode and bytes anew at each question, so that "owned by
// root" says nothing.
func (m mount) local() bool {
	switch m.fstype {
	case "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "bcachefs", "overlay", "tmpfs", "squashfs", "erofs", "iso9660":
		return true
	default:
		return false
	}
}
