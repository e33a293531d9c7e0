package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/shim"
)

// Host is the part of the machine that every sandbox sees: which of the fixed
// list exist. It is read once, when the service starts.
type Host struct {
	links []Mount
	etc   []string
	zones bool // the host has zone data files
	shims *shim.Places
}

// rootLinks are links to below /usr, or directories of their own on a host
// whose /usr is not merged.
func rootLinks() []string { return []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} }

// etcList is everything that a job sees of the host's /etc. A new line needs a
// reason and must hold no secret, no host name and no list of accounts.
func etcList() []struct{ pattern, why string } {
	return []struct{ pattern, why string }{
		{"/etc/alternatives", "names like awk and java are links through it"},
		{"/etc/ld.so.cache", "where the loader finds libraries"},
		{"/etc/ssl/certs", "roots of trust for TLS clients"},
		{"/etc/ca-certificates", "local roots of trust, linked from ssl/certs"},
		{"/etc/services", "port names"},
		{"/etc/protocols", "protocol names"},
		{"/etc/mime.types", "file types for web tools"},
		{"/etc/terminfo", "terminal descriptions for curses programs"},
		{"/etc/fonts", "fontconfig for report renderers"},
		{"/etc/perl", "site configuration of perl"},
		{"/etc/python3*", "site configuration of python"},
		{"/etc/java*", "the runtime's configuration, linked from /usr/lib/jvm"},
	}
}

// ReadHost looks at the fixed list.
func ReadHost() (Host, error) {
	h := Host{shims: shim.NewPlaces()}
	for _, name := range rootLinks() {
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Host{}, fmt.Errorf("look at %s: %w", name, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			h.links = append(h.links, Mount{Kind: HostRO, Dst: name, Src: name})
			continue
		}
		to, err := os.Readlink(name)
		if err != nil {
			return Host{}, fmt.Errorf("look at %s: %w", name, err)
		}
		h.links = append(h.links, Mount{Kind: Symlink, Dst: name, Src: to})
	}
	for _, e := range etcList() {
		found, err := filepath.Glob(e.pattern)
		if err != nil {
			return Host{}, fmt.Errorf("look for %s: %w", e.pattern, err)
		}
		h.etc = append(h.etc, found...)
	}
	_, err := os.Stat("/usr/share/zoneinfo")
	h.zones = err == nil
	return h, nil
}

// addRoot draws what every sandbox has: the system read-only, a synthetic /etc,
// private writable places. Nothing of /run, /var, /home, /root and /sys.
func (b *Blueprint) addRoot(h Host, zone string) {
	b.grant("/", List)
	b.mount(Mount{Kind: HostRO, Dst: "/usr", Src: "/usr"})
	b.grant("/usr", Read)
	for _, l := range h.links {
		b.mount(l)
		if l.Kind == HostRO {
			b.grant(l.Dst, Read)
		}
	}
	for _, path := range h.etc {
		b.mount(Mount{Kind: HostRO, Dst: path, Src: path})
	}
	b.grant("/etc", Read)
	b.addEtc(h, zone)

	b.mount(Mount{Kind: Proc, Dst: "/proc"})
	b.grant("/proc", Read)
	b.mount(Mount{Kind: Dev, Dst: "/dev"})
	b.grant("/dev", Devices)
	b.addPrivate("/dev/shm", 0o1777)
	b.addPrivate(TmpPath, 0o1777)
	b.addPrivate(HomePath, 0o700)
}

func (b *Blueprint) addPrivate(path string, perm uint32) {
	b.mount(Mount{Kind: Tmpfs, Dst: path, Size: b.Limits.TmpBytes, Perm: perm})
	b.grant(path, Private)
}

// addEtc writes the files that would otherwise tell of the host: its accounts,
// its names, its resolver.
func (b *Blueprint) addEtc(h Host, zone string) {
	uid, gid, user := strconv.Itoa(b.Account.UID), strconv.Itoa(b.Account.GID), b.Account.User
	for _, f := range []struct{ name, text string }{
		{"passwd", user + ":x:" + uid + ":" + gid + "::" + HomePath + ":/bin/sh\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"},
		{"group", user + ":x:" + gid + ":\nnogroup:x:65534:\n"},
		{"hosts", "127.0.0.1 localhost job\n::1 localhost\n"},
		{"resolv.conf", "# no resolver: this job has no network\n"},
		{"nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"},
	} {
		if f.name == "resolv.conf" && b.Net == jobspec.NetProxy {
			f.text = "# no resolver: names are resolved by the proxy that the environment names\n"
		}
		b.data("/etc/"+f.name, []byte(f.text), 0o444)
	}
	if h.zones && zone != "" {
		b.mount(Mount{Kind: Symlink, Dst: "/etc/localtime", Src: "/usr/share/zoneinfo/" + zone})
	}
}

func (b *Blueprint) data(path string, text []byte, perm uint32) {
	b.mount(Mount{Kind: Data, Dst: path, Bytes: text, Perm: perm, Size: int64(len(text)), What: jobspec.DigestOf(text)})
}
