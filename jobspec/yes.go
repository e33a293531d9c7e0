package jobspec

import "strings"

// yesLint asks about the flags with which a program takes every question for
// answered. They are not the job's consent; the owner's is.
func (r *reading) yesLint(words []string, c around) {
	if baseName(words[0]) == "yes" && c.feeds {
		r.find(ruleYes, words)
		return
	}
	for i, w := range words[1:] {
		if w == "--" {
			return
		}
		if assumesYes(words[0], w) {
			r.find(ruleYes, []string{words[0], words[i+1]})
			return
		}
	}
}

func assumesYes(program, w string) bool {
	name, value, glued := strings.Cut(w, "=")
	switch name {
	case "--yes", "--assume-yes", "--assumeyes", "--force-yes", "--no-confirm", "--noconfirm", "--auto-approve", "-auto-approve", "--yes-always", "--always-yes", "--accept-all", "--skip-confirmation":
		return !glued || value != "false"
	case "-o", "--option":
		return strings.Contains(strings.ToLower(value), "assume-yes")
	}
	if strings.Contains(strings.ToLower(w), "get::assume-yes") {
		return true
	}
	return takesYes(program) && len(w) > 1 && len(w) < 6 && w[0] == '-' && w[1] != '-' && strings.Contains(w, "y") && isLetters(w[1:])
}

// takesYes knows the programs whose -y means yes to everything.
func takesYes(program string) bool {
	switch plainName(baseName(program)) {
	case "apt", "apt-get", "aptitude", "dnf", "yum", "microdnf", "tdnf", "zypper", "conda", "mamba", "micromamba", "pip", "pipx", "npm", "npx", "yarn", "pnpm",
		"pkg", "opkg", "emerge", "ffmpeg", "gcloud", "rustup", "snap", "flatpak", "choco", "brew", "pear", "sdkmanager", "add-apt-repository", "mdadm", "parted", "fsck":
		return true
	}
	return false
}
