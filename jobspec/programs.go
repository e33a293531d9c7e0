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

// opensHost reports whether the words start a container that is none: with the
// host's root, its namespaces or all rights.
func opensHost(words []string) bool {
	switch baseName(words[0]) {
	case "docker", "podman", "nerdctl":
	default:
		return false
	}
	for i, w := range words[1:] {
		name, value, glued := strings.Cut(w, "=")
		if !glued && i+2 < len(words) {
			value = words[i+2]
		}
		switch name {
		case "--privileged":
			return value != "false" || !glued
		case "--pid", "--net", "--network", "--ipc", "--userns", "--uts", "--cgroupns":
			if value == "host" {
				return true
			}
		case "-v", "--volume":
			if strings.HasPrefix(value, "/:") || strings.Contains(value, "docker.sock") {
				return true
			}
		case "--mount":
			if strings.Contains(value+",", "source=/,") || strings.Contains(value+",", "src=/,") {
				return true
			}
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
