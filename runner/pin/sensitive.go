package pin

import (
	"path/filepath"

	"github.com/sbxcron/sbxcron/jobspec"
)

// SensitiveOptions name the places that belong to this installation. Each list
// holds those of this root and the default ones; empty names are passed over.
type SensitiveOptions struct {
	Conf, State, Run []string
	KeyFiles         []string // signing keys, where they are files
	Binary, Bwrap    string
	Passwd           string // "" means /etc/passwd
}

const (
	alone    = jobspec.Itself | jobspec.Contains
	allOfIt  = alone | jobspec.Below
	etcReach = allOfIt | jobspec.ReadOK
)

// systemPlaces are the kernel's and the boot loader's, whole.
var systemPlaces = [...]string{"/boot", "/dev", "/proc", "/run", "/sys"}

// socketPlaces are where services listen that could do for a job what its sandbox
// keeps it from. They lie in /run, or in /var, which is open to reading.
var socketPlaces = [...]string{
	"/run/docker.sock", "/run/docker", "/run/podman", "/run/containerd", "/run/crio", "/run/buildkit", "/run/k3s", "/run/cri-dockerd.sock",
	"/run/dbus", "/run/systemd", "/run/udev", "/run/libvirt", "/run/snapd.socket", "/run/snapd-snap.socket", "/run/incus", "/run/lxd.socket", "/run/polkit",
	"/var/lib/docker", "/var/lib/containerd", "/var/lib/incus", "/var/lib/lxd", "/var/snap/lxd", "/var/lib/libvirt",
}

// userSockets are those of each account's own services, below /run/user/UID.
var userSockets = [...]string{"bus", "dbus-1", "systemd", "docker.sock", "docker", "podman", "containerd", "buildkit", "gnupg", "keyring", "ssh-agent", "openssh_agent", "gcr", "at-spi", "pipewire-0", "wayland-0", "libvirt", "sbxcron"}

// etcPlaces hold secrets or decide who may become root, so that reading them is
// refused too. The names with a dash are the copies that passwd(1) keeps.
var etcPlaces = [...]string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-",
	"/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private",
}

// homePlaces are below every home: credentials, and what is executed when the
// account's owner logs in, opens a shell or starts a session.
var homePlaces = [...]string{
	".ssh", ".gnupg", ".pki", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass",
	".git-credentials", ".npmrc", ".pypirc", ".vault-token", ".password-store", ".mozilla",
	".config/gh", ".config/gcloud", ".config/containers", ".config/git", ".config/op",
	".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".thunderbird",
	".local/share/keyrings", ".cargo/credentials.toml",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".config/fish", ".xprofile", ".xsession", ".xinitrc",
	".config/systemd", ".config/autostart", ".config/environment.d", ".local/share/systemd",
	".local/share/applications", ".local/share/dbus-1", ".gitconfig", ".vimrc", ".config/nvim", ".emacs.d",
	".config/sbxcron", ".local/state/sbxcron",
}

// SensitivePlaces gathers where the places lie that no job gets. A place that
// does not exist, or that this process cannot see, is kept by its path and by
// where it would lie in its file system, so that it is refused all the same when
// it comes. The error means that the host could not be read at all.
func SensitivePlaces(o SensitiveOptions) ([]jobspec.Sensitive, error) {
	g, err := newGatherer()
	if err != nil {
		return nil, err
	}
	homes, err := readHomes(o.Passwd)
	if err != nil {
		return nil, err
	}
	collect(g, o, homes)
	return g.all, nil
}

// collect goes through all places.
func collect(g *gatherer, o SensitiveOptions, homes []home) {
	g.each("CONF", allOfIt, o.Conf...)
	g.each("STATE", allOfIt, o.State...)
	g.each("RUN", allOfIt, o.Run...)
	for _, p := range systemPlaces {
		reach := allOfIt
		if p == "/run" {
			reach |= jobspec.SocketOK
		}
		g.each(p, reach, p)
	}
	for _, p := range socketPlaces {
		g.each("the socket of a service with more rights", allOfIt, p)
	}
	for _, dir := range userDirs() {
		for _, name := range userSockets {
			g.each("a service of an account's session", allOfIt, filepath.Join(dir, name))
		}
	}
	g.each("/etc", etcReach, "/etc")
	for _, p := range etcPlaces {
		g.each(p, allOfIt, p)
	}
	g.each("the root folder", alone, "/")
	g.each("a signing key", alone, o.KeyFiles...)
	g.each("the sbxcron binary", alone, o.Binary)
	g.each("the sandbox program", alone, o.Bwrap)
	for _, h := range homes {
		g.each("the home of "+h.user, alone, h.dir)
		for _, name := range homePlaces {
			g.each(name+" of "+h.user, allOfIt, filepath.Join(h.dir, name))
		}
	}
}

// userDirs are the runtime folders of accounts that are logged in. What cannot be
// listed is nobody's that a job could reach.
func userDirs() []string {
	dirs, err := filepath.Glob("/run/user/*")
	if err != nil {
		return nil
	}
	return dirs
}
