package jobspec

import (
	"path"
	"slices"
	"strings"
)

// neverSockets know the sockets that no job gets, wherever they lie: who may
// talk to one of these can do what the sandbox keeps a job from. Places of the
// usual installations are among the sensitive places too, and compared by inode.
func neverSockets() []struct {
	what  string
	bases []string // last parts of paths, as patterns of path.Match
} {
	return []struct {
		what  string
		bases []string
	}{
		{"docker", []string{"docker*.sock", "cri-dockerd.sock"}},
		{"podman", []string{"podman*.sock"}},
		{"containerd", []string{"containerd*.sock", "containerd*.sock.ttrpc", "buildkitd.sock"}},
		{"a container or machine manager", []string{"crio.sock", "lxd.socket", "incus*.socket", "libvirt-*", "virtqemud-*", "snapd*.socket", "kubelet.sock", "nomad.sock"}},
		{"D-Bus", []string{"system_bus_socket", "session_bus_socket", "bus", "dbus-*"}},
		{"systemd", []string{"io.systemd.*", "org.freedesktop.*", "private", "notify"}},
		{"an ssh agent", []string{"agent.[0-9]*", "ssh-agent*", "S.gpg-agent*", "gpg-agent*"}},
		{"sbxcron", []string{"sbxcron*"}},
	}
}

// NeverSocket says whose socket a path names that no job gets, "" for another.
func NeverSocket(p string) string {
	base := path.Base(p)
	for _, n := range neverSockets() {
		if slices.ContainsFunc(n.bases, func(pattern string) bool {
			ok, err := path.Match(pattern, base)
			return ok || err != nil
		}) {
			return n.what
		}
	}
	return ""
}

// sockets: each needs the policy's gate and the spec's, and some have none.
func (j *judge) sockets(c Ceiling) {
	for _, s := range j.spec.Sockets {
		if what := NeverSocket(s); what != "" {
			j.finding(Check{Code: CodePathSensitive, Layer: LayerFloor, Target: s, Detail: "it is a socket of " + what + ", which is open to no job"})
			continue
		}
		if !withinAny(s, c.Sockets) {
			j.shut("policy", CodeSocketOverCeiling, s, "sockets of "+string(j.op.Principal)+" does not list it")
		}
	}
}

// socket judges what lies at the path of a socket.
func (j *judge) socket(p string) {
	o, seen := j.observation(UseSocket, "", p)
	switch {
	case !seen:
		j.no(CodePathUnreachable, p, "it was not opened")
	case o.Problem != "":
		j.no(o.Problem, p, "%s", o.Detail)
	case o.Symlink || o.Real != p:
		j.no(CodePathUnreachable, p, "the path leads to %s now", Quote(o.Real))
	case o.Kind != KindSocket:
		j.no(CodePathUnreachable, p, "it is a %s and no socket", o.Kind)
	default:
		if s, relation, ok := CheckSocket(o, j.in.Sensitive); !ok {
			j.finding(Check{Code: CodePathSensitive, Layer: LayerFloor, Target: o.Real, Detail: relation + " " + s.What + ", and no job gets that"})
		}
	}
}

// CheckSocket is CheckPlace for a socket of net.sockets, which may lie where
// files may not.
func CheckSocket(o Observation, places []Sensitive) (hit Sensitive, relation string, ok bool) {
	others := slices.DeleteFunc(slices.Clone(places), func(s Sensitive) bool { return s.Reach&SocketOK != 0 })
	hit, relation, ok = CheckPlace(o, others, true)
	return hit, strings.TrimSpace("it " + relation), ok
}
