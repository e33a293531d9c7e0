package jobspec

import (
	"path"
	"strings"
)

// baseName is the last part of a path.
func baseName(word string) string {
	if word == "" {
		return ""
	}
	return path.Base(word)
}

// plainName takes a version off a program's name: python3.12 is python. It is
// used to deny and to ask, never to allow.
func plainName(name string) string {
	return strings.TrimRight(strings.TrimRight(name, "0123456789."), "-")
}

// names are what a program may be called by a rule that denies or asks.
func names(word string) []string {
	base := baseName(word)
	if plain := plainName(base); plain != base && plain != "" {
		return []string{base, plain}
	}
	return []string{base}
}

// isPrivilege reports whether the word names a tool that changes rights, starts
// work outside the sandbox or rebuilds it. The floor denies them all.
func isPrivilege(word string) bool {
	for _, n := range names(word) {
		switch n {
		case "sudo", "sudoedit", "su", "doas", "pkexec", "run0", "runuser", "sg", "newgrp", "setpriv", "capsh",
			"machinectl", "systemd-run", "systemctl", "at", "batch", "crontab", "nsenter", "unshare", "chroot",
			"bwrap", "firejail", "mount", "umount", "fusermount", "pivot_root", "switch_root",
			"insmod", "rmmod", "modprobe", "kexec", "newuidmap", "newgidmap", "gosu", "su-exec":
			return true
		}
	}
	return false
}

// isPlainlyPrivilege is the narrower list for words that are no command words:
// "at" and "mount" are ordinary words, "sudo" is not.
func isPlainlyPrivilege(word string) bool {
	if strings.HasPrefix(word, "/") {
		return isPrivilege(word)
	}
	switch word {
	case "sudo", "doas", "pkexec", "run0", "runuser", "systemd-run", "nsenter", "unshare", "setpriv", "capsh":
		return true
	}
	return false
}

// isAgent reports whether the word names an agent with switches of its own for
// going on without asking.
func isAgent(word string) bool {
	switch baseName(word) {
	case "claude", "codex", "gemini", "openclaw", "hermes", "aider", "goose", "opencode", "cursor-agent", "amp", "q":
		return true
	}
	return false
}

// bypassFlag finds the first word that switches an agent's own checks off.
func bypassFlag(words []string) string {
	for _, w := range words {
		flag, value, _ := strings.Cut(strings.ToLower(w), "=")
		switch flag {
		case "--dangerously-skip-permissions", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust",
			"--allow-dangerously-skip-permissions", "--yolo", "--yes-always", "--accept-hooks", "--skip-trust":
			return w
		}
		switch value {
		case "danger-full-access", "bypasspermissions", "yolo":
			return w
		}
		switch flag {
		case "danger-full-access", "bypasspermissions":
			return w
		}
	}
	return ""
}

// isRunner reports whether the program runs what a file of its own choice says,
// so that no operand names the code: nothing can be bound from argv.
func isRunner(words []string) bool {
	switch plainName(baseName(words[0])) {
	case "make", "gmake", "ninja", "just", "task", "rake", "gradle", "gradlew", "mvn", "mvnw", "ant", "tox", "nox",
		"npm", "pnpm", "yarn", "npx", "bunx", "bun", "deno", "uv", "uvx", "pipx", "poetry", "pipenv", "bundle", "composer":
		return !onlyAsks(words[1:])
	case "go", "cargo", "dotnet":
		return len(words) > 1 && strings.Contains(" run test bench generate tool exec install build ", " "+words[1]+" ")
	}
	return false
}

// isExecutor reports whether the program starts other programs that it is told
// in ways that are not followed here.
func isExecutor(word string) bool {
	switch plainName(baseName(word)) {
	case "xargs", "parallel", "watch", "flock", "script", "expect", "strace", "ltrace", "gdb", "tmux", "screen",
		"docker", "podman", "ssh", "entr", "busybox", "toybox", "start-stop-daemon", "dbus-run-session", "faketime",
		"fakeroot", "proot", "catchsegv", "valgrind", "perf", "setarch", "linux32", "linux64", "prlimit", "choom", "cgexec":
		return true
	}
	return isLoader(word)
}

// isLoader reports whether the word names the dynamic loader, which runs any file.
func isLoader(word string) bool {
	b := baseName(word)
	return strings.HasPrefix(b, "ld-linux") || strings.HasPrefix(b, "ld-musl") || b == "ld.so"
}

// isApplet reports whether the program takes its name from its first operand.
func isApplet(word string) bool {
	b := baseName(word)
	return b == "busybox" || b == "toybox"
}

// onlyAsks reports whether the operands ask for a version or help only.
func onlyAsks(operands []string) bool {
	for _, w := range operands {
		switch w {
		case "--version", "-version", "-V", "--help", "-help", "version":
		default:
			return false
		}
	}
	return len(operands) > 0
}

// riskyOptions lists options that make an ordinary program run another one:
// long names, which GNU programs accept shortened, and short letters.
func riskyOptions(word string) (long []string, short string) {
	switch baseName(word) {
	case "git":
		return []string{"--exec-path", "--git-dir", "--config-env", "--upload-pack", "--receive-pack"}, "cp"
	case "tar", "bsdtar":
		return []string{"--checkpoint-action", "--to-command", "--use-compress-program", "--info-script", "--new-volume-script", "--rsh-command"}, "IF"
	case "sort":
		return []string{"--compress-program"}, ""
	case "rsync":
		return []string{"--rsh", "--rsync-path"}, "e"
	case "rg":
		return []string{"--pre", "--hostname-bin"}, ""
	case "man":
		return []string{"--pager", "--html"}, "PH"
	case "vim", "vi", "nvim", "ex", "view":
		return []string{"--cmd"}, "cS"
	case "split":
		return []string{"--filter"}, ""
	}
	return nil, ""
}

// riskyOption finds the first operand that is such an option.
func riskyOption(words []string) string {
	long, short := riskyOptions(words[0])
	git := baseName(words[0]) == "git"
	for i, w := range words[1:] {
		switch {
		case w == "--" || git && !strings.HasPrefix(w, "-") && words[i] != "-C":
			return "" // git's subcommands have options of their own
		case strings.HasPrefix(w, "--"):
			name, _, _ := strings.Cut(w, "=")
			for _, l := range long {
				if len(name) > 3 && strings.HasPrefix(l, name) || name == l {
					return w
				}
			}
		case strings.HasPrefix(w, "-") && short != "" && strings.ContainsAny(w[1:], short):
			return w
		}
	}
	return ""
}
