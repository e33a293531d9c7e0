package shim

import (
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Tool is a group of programs that mean the same wish.
type Tool struct {
	Code  jobspec.Code
	Exit  int      // what the real program ends with when the answer is no
	Names []string // base names; one that ends in "-" also stands for NAME-ANYTHING
}

// Names of ours, for variables that name a helper: the record can then tell who
// wanted to ask.
const (
	AskpassSudo = "askpass-sudo"
	AskpassSSH  = "askpass-ssh"
	AskpassGit  = "askpass-git"
	Editor      = "editor"
	Browser     = "browser"
)

// Tools is the table. Package managers are not in it: most of what they are
// called for asks nothing (dpkg -l, apt-get download), the environment takes
// their defaults, and nothing that they would change is writable.
func Tools() []Tool {
	return []Tool{
		{jobspec.CodeEscSudo, 1, []string{"sudo", "sudoedit"}},
		{jobspec.CodeEscSu, 1, []string{"su", "runuser", "newgrp", "sg"}},
		{jobspec.CodeEscDoas, 1, []string{"doas"}},
		{jobspec.CodeEscPkexec, 127, []string{"pkexec"}}, // 127: not authorised (pkexec(1))
		{jobspec.CodeEscRun0, 1, []string{"run0"}},
		{jobspec.CodeEscScheduler, 1, []string{"crontab", "at", "batch", "systemctl", "systemd-run", "loginctl"}},
		{jobspec.CodeAskAskpassSudo, 1, []string{AskpassSudo}},
		{jobspec.CodeAskAskpassSSH, 1, []string{AskpassSSH, "ssh-askpass", "ksshaskpass", "gnome-ssh-askpass", "lxqt-openssh-askpass"}},
		{jobspec.CodeAskAskpassGit, 1, []string{AskpassGit, "git-gui--askpass"}},
		{jobspec.CodeAskPinentry, 1, []string{"pinentry", "pinentry-", "gpg-agent"}}, // the agent asks for passphrases, and could make no socket
		{jobspec.CodeAskTTY, 1, []string{"systemd-ask-password"}},
		{jobspec.CodeAskEditor, 1, []string{Editor, "sensible-editor", "select-editor"}},
		{jobspec.CodeAskBrowser, 3, []string{Browser, "xdg-open", "sensible-browser", "x-www-browser", "www-browser"}}, // 3: no tool found (xdg-open(1))
		{jobspec.CodeAskDesktop, 1, []string{"zenity", "kdialog", "xmessage", "gxmessage", "yad"}},
	}
}

// Names lists what stands in the folder that comes first in PATH, sorted.
func Names() []string {
	var all []string
	for _, t := range Tools() {
		for _, n := range t.Names {
			if !strings.HasSuffix(n, "-") {
				all = append(all, n)
			}
		}
	}
	slices.Sort(all)
	return all
}

// Known reports whether the table has a base name.
func Known(name string) bool {
	_, ok := tool(name)
	return ok
}

// tool finds the group of a base name.
func tool(name string) (Tool, bool) {
	for _, t := range Tools() {
		for _, n := range t.Names {
			if n == name || strings.HasSuffix(n, "-") && strings.HasPrefix(name, n) {
				return t, true
			}
		}
	}
	return Tool{}, false
}

// Codes lists the codes that a shim can tell, in the order of the table.
func Codes() []jobspec.Code {
	var all []jobspec.Code
	for _, t := range Tools() {
		all = append(all, t.Code)
	}
	return all
}
