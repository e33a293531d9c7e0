package cause

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Cause is a reason by name. The zero value is none.
type Cause struct {
	Word   string // for scripts: see the constants
	Detail string
	Remedy string
	// Lasting says that it stays until somebody mends the machine. A job of the
	// same account cannot bring it about.
	Lasting bool
}

// The words.
const (
	AppArmor     = "userns_apparmor"
	NoClone      = "userns_sysctl_clone"
	NoneAllowed  = "userns_sysctl_max"
	UsedUp       = "userns_used_up"
	Filtered     = "userns_filtered"
	NotInKernel  = "userns_not_in_kernel"
	Refused      = "userns_refused"
	ProcCovered  = "proc_covered"
	ProcRefused  = "proc_refused"
	NoLandlock   = "landlock_missing"
	OldLandlock  = "landlock_old"
	NoSeccomp    = "seccomp_missing"
	NoProgram    = "bwrap_missing"
	NotRootOwned = "bwrap_not_root_owned"
	SetID        = "bwrap_set_id"
	FileCaps     = "bwrap_file_capabilities"
	OldProgram   = "bwrap_old"
)

// Facts are what Read found.
type Facts struct {
	UserNS       bool  // /proc/self/ns/user is there
	MaxUserNS    int64 // sysctl user.max_user_namespaces, -1 where there is none
	UnprivClone  int64 // sysctl kernel.unprivileged_userns_clone, -1 where there is none
	AppArmor     int64 // sysctl kernel.apparmor_restrict_unprivileged_userns, -1 where there is none
	Filtered     bool  // a seccomp filter of somebody lies around this process
	Seccomp      bool  // the kernel has seccomp filters
	Landlock     int   // ABI, 0 for none
	OverProc     []string
	ReadOnlyProc bool
	Container    string // what says that this is one, "" for nothing
}

// NoUserNS says why an attempt to make a user namespace failed with err.
func NoUserNS(f Facts, err error) Cause {
	switch {
	case !f.UserNS:
		return Cause{NotInKernel, "this kernel has no user namespaces", "boot a kernel with CONFIG_USER_NS", true}
	case f.MaxUserNS == 0:
		return Cause{NoneAllowed, "user.max_user_namespaces is 0, so user namespaces are refused to everybody",
			"sysctl user.max_user_namespaces=15000, and a file in /etc/sysctl.d that says so", true}
	case f.UnprivClone == 0:
		return Cause{NoClone, "kernel.unprivileged_userns_clone is 0, so user namespaces are refused to ordinary users",
			"sysctl kernel.unprivileged_userns_clone=1, and a file in /etc/sysctl.d that says so", true}
	case f.AppArmor == 1:
		return Cause{AppArmor, "AppArmor keeps unprivileged user namespaces from programs without a profile",
			"install the distribution's AppArmor profile for bwrap (Ubuntu: apt install apparmor-profiles, ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/, apparmor_parser -r on it)", true}
	case errors.Is(err, syscall.ENOSPC):
		return Cause{UsedUp, fmt.Sprintf("all %d user namespaces that user.max_user_namespaces allows the account are in use", f.MaxUserNS),
			"end what holds them, or raise sysctl user.max_user_namespaces", false}
	case f.Filtered:
		return Cause{Filtered, fmt.Sprintf("user namespaces are refused (%v), and a system call filter lies around this process%s", err, f.place()),
			"allow clone and unshare with CLONE_NEWUSER, and mount, in the seccomp profile of the container or the unit", true}
	}
	return Cause{Refused, fmt.Sprintf("user namespaces are refused (%v)%s", err, f.place()),
		"allow user namespaces to ordinary users: look at sysctl user.max_user_namespaces, at the security module (AppArmor, SELinux), and in a container at its seccomp profile", true}
}

// NoProc says why a sandbox got no procfs of its own though it got its user
// namespace.
func NoProc(f Facts) Cause {
	const remedy = "leave the container's /proc whole (docker: --security-opt systempaths=unconfined, podman: --security-opt unmask=ALL), or accept weaker_nested_sandbox in policy and spec"
	if len(f.OverProc) > 0 || f.ReadOnlyProc {
		what := strings.Join(f.OverProc, ", ")
		if what == "" {
			what = "all of it, read-only"
		}
		return Cause{ProcCovered, fmt.Sprintf("the kernel gives no fresh /proc where the one around is covered in part (%s)%s", what, f.place()), remedy, true}
	}
	return Cause{ProcRefused, "the kernel gives no fresh /proc" + f.place(), remedy, true}
}

// LandlockFloor is the oldest ABI that jobs run under.
const LandlockFloor = 2

// Landlock says what is wrong with it, the zero value for nothing. Least is the
// oldest ABI that will do.
func Landlock(f Facts, least int) Cause {
	const remedy = "boot a kernel with Landlock (Linux %s or newer) and have landlock in its list of security modules (lsm= on the command line, CONFIG_LSM)"
	switch {
	case f.Landlock == 0:
		return Cause{NoLandlock, "the kernel offers no Landlock, or something keeps it from this process", fmt.Sprintf(remedy, linuxOf(least)), true}
	case f.Landlock < least:
		return Cause{OldLandlock, fmt.Sprintf("the kernel offers Landlock ABI %d, at least %d is needed", f.Landlock, least), fmt.Sprintf(remedy, linuxOf(least)), true}
	}
	return Cause{}
}

// linuxOf is the first kernel with an ABI (landlock(7)).
func linuxOf(abi int) string {
	first := []string{"5.13", "5.13", "5.19", "6.2", "6.7", "6.10", "6.12", "6.15"}
	return first[min(abi, len(first)-1)]
}

// Seccomp says what is wrong with it, the zero value for nothing.
func Seccomp(f Facts) Cause {
	if f.Seccomp {
		return Cause{}
	}
	return Cause{NoSeccomp, "the kernel loads no system call filters", "boot a kernel with CONFIG_SECCOMP_FILTER; in a container, allow seccomp and prctl in its profile", true}
}

// place tells of the container, for a detail.
func (f Facts) place() string {
	if f.Container == "" {
		return ""
	}
	return "; this is a container (" + f.Container + ")"
}

// Program is what was seen of bwrap's file.
type Program struct {
	Path    string
	Missing bool
	Regular bool
	UID     uint32
	Mode    uint32 // permission and set-id bits
	Caps    bool   // file capabilities
}

// BadProgram says why a sandbox program is not used, the zero value for one that
// is fine.
func BadProgram(p Program) Cause {
	const anew = "install bubblewrap from the distribution's package (Debian, Ubuntu: apt install --reinstall bubblewrap)"
	const plain = "allow user namespaces to ordinary users and take it off: "
	switch {
	case p.Missing:
		return Cause{NoProgram, p.Path + " is not there", "install bubblewrap (Debian, Ubuntu: apt install bubblewrap)", true}
	case !p.Regular || p.UID != 0 || p.Mode&0o022 != 0:
		return Cause{NotRootOwned, p.Path + " is not a file that only root can change", anew, true}
	case p.Mode&0o6000 != 0:
		return Cause{SetID, p.Path + " is set-id: it gains rights when it starts, which every program that runs it could use", plain + "chmod u-s,g-s " + p.Path, true}
	case p.Caps:
		return Cause{FileCaps, p.Path + " has file capabilities: it gains rights when it starts, which every program that runs it could use", plain + "setcap -r " + p.Path, true}
	}
	return Cause{}
}

// OldBwrap is for a program that does not know an option which it is given.
func OldBwrap(version, option string) Cause {
	return Cause{OldProgram, fmt.Sprintf("bwrap %s does not know %s", version, option), "install bubblewrap 0.8.0 as Debian ships it, or 0.10.0 or newer", true}
}
