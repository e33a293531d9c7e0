package doctor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/cause"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// sound is a machine on which everything is right.
func sound() Facts {
	return Facts{Platform: "linux", System: true, Files: []FileFact{{Path: "/etc/sbxcron"}}, Now: noon, HighestSeen: noon, Synchronised: Yes,
		Sandbox: jobspec.Sandbox{Backend: "bwrap", Usable: true, Version: "0.8.0", Capabilities: []string{jobspec.CapCgroupMemory, jobspec.CapCgroupCPU}}, Machine: cause.Facts{Landlock: 7, Seccomp: true, UserNS: true, MaxUserNS: 1000, UnprivClone: -1, AppArmor: -1}, Service: true, ServicePID: 812, Zone: "Europe/Berlin"}
}

func TestASoundMachineHasNothingToMend(t *testing.T) {
	checks := Examine(sound())
	for _, c := range checks {
		if c.Verdict != OK || c.Remedy != "" || c.Detail == "" {
			t.Errorf("%+v", c)
		}
	}
	if Failed(checks) {
		t.Error("a sound machine fails")
	}
}

type unsafeFile struct{}

func (unsafeFile) Error() string { return "others can write" }
func (unsafeFile) Hint() string  { return "chmod go-w it" }

func TestEachFaultIsNamedWithARemedy(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*Facts)
		check   string
		verdict Verdict
		remedy  string
	}{
		"other platform":     {func(f *Facts) { f.Platform = "darwin" }, "platform", Fail, "linux"},
		"no installation":    {func(f *Facts) { f.Files = nil }, "files", Fail, "sbxcron init"},
		"unsafe file":        {func(f *Facts) { f.Files[0].Err = unsafeFile{} }, "files", Fail, "chmod go-w it"},
		"unreadable file":    {func(f *Facts) { f.Files[0].Err = errors.New("input/output error") }, "files", Fail, "belong"},
		"clock went back":    {func(f *Facts) { f.HighestSeen = noon.Add(25 * time.Hour) }, "clock", Fail, "set the clock"},
		"clock runs free":    {func(f *Facts) { f.Synchronised = No }, "clock", Warn, "time service"},
		"clock unknown":      {func(f *Facts) { f.Synchronised = Unknown }, "clock", Warn, "time service"},
		"no zone":            {func(f *Facts) { f.Zone = "" }, "zone", Warn, "--timezone"},
		"no sandbox":         {func(f *Facts) { f.Sandbox = jobspec.Sandbox{} }, "sandbox", Fail, "bubblewrap"},
		"soft limits":        {func(f *Facts) { f.Sandbox.Capabilities = nil }, "limits", Warn, "systemd-run --scope -p Delegate=yes sbxcron daemon"},
		"sandbox problem":    {func(f *Facts) { f.Sandbox.Usable, f.Sandbox.Remedy = false, "do this" }, "sandbox", Fail, "do this"},
		"no landlock":        {func(f *Facts) { f.Machine.Landlock = 0 }, "landlock", Fail, "Landlock"},
		"old landlock":       {func(f *Facts) { f.Machine.Landlock = 1 }, "landlock", Fail, "Landlock"},
		"no filters":         {func(f *Facts) { f.Machine.Seccomp = false }, "seccomp", Fail, "CONFIG_SECCOMP_FILTER"},
		"no namespaces left": {func(f *Facts) { f.Userns = switchedOff(cause.Facts{UserNS: true, MaxUserNS: 0, UnprivClone: -1}, 1000) }, "user_namespaces", Fail, "sysctl user.max_user_namespaces"},
		"switched off":       {func(f *Facts) { f.Userns = switchedOff(cause.Facts{UserNS: true, MaxUserNS: 9, UnprivClone: 0}, 1000) }, "user_namespaces", Fail, "unprivileged_userns_clone=1"},
		"no namespaces":      {func(f *Facts) { f.Userns = switchedOff(cause.Facts{MaxUserNS: -1, UnprivClone: -1}, 0) }, "user_namespaces", Fail, "CONFIG_USER_NS"},
		"state on nfs":       {func(f *Facts) { f.StateFS = "nfs" }, "state_filesystem", Fail, "local file system"},
		"state in memory":    {func(f *Facts) { f.StateFS = "tmpfs" }, "state_filesystem", Warn, "disk"},
		"state in a layer":   {func(f *Facts) { f.StateFS = "overlay" }, "state_filesystem", Warn, "volume"},
		"state on fuse":      {func(f *Facts) { f.StateFS = "fuse" }, "state_filesystem", Warn, "rely on"},
		"no landlock, accepted": {func(f *Facts) {
			f.Sandbox.Needs, f.Sandbox.Detail, f.Sandbox.Remedy = []string{jobspec.WeakerLandlockMissing}, "none", "boot another kernel"
		}, "sandbox", Warn, "boot"},
		"unsigned history": {func(f *Facts) { f.History = HistoryFact{Asked: true} }, "history", Warn, "start the service"},
		"spoilt history":   {func(f *Facts) { f.History = HistoryFact{Asked: true, Err: errors.New("x")} }, "history", Fail, "backup"},
		"history that is not signed any more": {func(f *Facts) {
			f.History = HistoryFact{Asked: true, Epoch: 1, Time: f.Now.Add(-26 * time.Hour), Syslog: true}
		}, "history", Fail, "sbxcron status"},
		"history that stays here": {func(f *Facts) { f.History = HistoryFact{Asked: true, Epoch: 1, Time: f.Now} }, "history", Warn, "follow"},
		"user mode":               {func(f *Facts) { f.System = false }, "same_uid", Warn, "root"},
		"no service":              {func(f *Facts) { f.Service = false }, "service", Warn, "sbxcron daemon"},
		"open key":                {func(f *Facts) { f.Key = KeyFact{Path: "/k", Readable: true, Encrypted: No} }, "signing_key", Warn, "passphrase"},
		"unknown key":             {func(f *Facts) { f.Key = KeyFact{Path: "/k", Readable: true} }, "signing_key", Warn, "passphrase"},
	} {
		t.Run(name, func(t *testing.T) {
			f := sound()
			tc.change(&f)
			checks := Examine(f)
			found := false
			for _, c := range checks {
				if c.Name == tc.check {
					found = true
					if c.Verdict != tc.verdict || c.Detail == "" || c.Remedy == "" || !strings.Contains(c.Remedy, tc.remedy) {
						t.Errorf("%+v", c)
					}
				} else if c.Verdict != OK {
					t.Errorf("something else is blamed: %+v", c)
				}
			}
			if !found || Failed(checks) != (tc.verdict == Fail) {
				t.Errorf("found %v, failed %v", found, Failed(checks))
			}
		})
	}
}

func TestNothingKnownIsNotFine(t *testing.T) {
	if !Failed(nil) || !Failed([]Check{{Name: "x"}}) || !Failed(Examine(Facts{})) || !Failed(Examine(Facts{Platform: "linux"})) {
		t.Error("a machine of which nothing is known passes")
	}
}

func TestNoRemedyWeakensAnything(t *testing.T) {
	all := Examine(Facts{Platform: "linux", Files: []FileFact{{Err: errors.New("x")}}, Userns: cause.NoUserNS(cause.Facts{UserNS: true, MaxUserNS: 0}, nil)})
	for _, c := range append(all, Examine(Facts{})...) {
		for _, word := range []string{"disable", "switch off", "chmod 777", "chmod 666", "without", "setuid", "apparmor=0"} {
			if strings.Contains(c.Remedy, word) {
				t.Errorf("%s: %q", c.Name, c.Remedy)
			}
		}
	}
}

func TestACoveredProcIsNamed(t *testing.T) {
	f := sound()
	f.Sandbox.Needs, f.Sandbox.Detail, f.Sandbox.Remedy = []string{jobspec.WeakerNestedSandbox}, "covered", "uncover it"
	f.Machine.OverProc, f.Machine.Container = []string{"/proc/kcore", "/proc/keys"}, "/.dockerenv"
	for _, c := range Examine(f) {
		if c.Name == "proc" && (c.Verdict != Warn || !strings.Contains(c.Detail, "/proc/kcore, /proc/keys") || !strings.Contains(c.Detail, "/.dockerenv") || !strings.Contains(c.Remedy, "unmask")) {
			t.Errorf("%+v", c)
		}
	}
}

func TestBackendsForThoseWhoAcceptThemAreToldAndFailNothing(t *testing.T) {
	f := sound()
	f.Weaker = []jobspec.Sandbox{{Backend: "landlock", Usable: true, Version: "ABI 7", Needs: []string{jobspec.WeakerBackendLandlock}}, {Backend: "other", Detail: "root"}}
	found := 0
	for _, c := range Examine(f) {
		if strings.HasPrefix(c.Name, "backend_") && c.Verdict == OK && c.Detail != "" {
			found++
		}
	}
	if found != 2 || Failed(Examine(f)) {
		t.Errorf("%d told", found)
	}
}

// A user's service is started by the user's own manager; the row above is root's.
func TestAUserIsToldTheUsersCommandForSoftLimits(t *testing.T) {
	f := sound()
	f.System, f.Sandbox.Capabilities = false, nil
	c := limits(f)
	if c.Verdict != Warn || !strings.Contains(c.Remedy, "systemd-run --user --scope -p Delegate=yes sbxcron daemon") || !strings.Contains(c.Remedy, "enable-linger") {
		t.Errorf("%+v", c)
	}
}
