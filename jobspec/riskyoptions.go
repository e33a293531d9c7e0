package jobspec

import "strings"

// risky are the options that make an ordinary program run another one: long
// names, which GNU programs accept shortened, and short letters, which stand in
// clusters too.
type risky struct {
	long  []string
	short string
	plus  bool // words with + are commands of an editor or pager
}

func riskyFor(word string) risky {
	switch plainName(baseName(word)) {
	case "git":
		return risky{long: []string{"--exec-path", "--git-dir", "--config-env", "--upload-pack", "--receive-pack"}, short: "cp"}
	case "tar", "gtar", "bsdtar":
		return risky{long: []string{"--checkpoint-action", "--to-command", "--use-compress-program", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command"}, short: "IF"}
	case "cpio", "rmt":
		return risky{long: []string{"--rsh-command", "--rmt-command"}}
	case "sort", "gsort":
		return risky{long: []string{"--compress-program"}}
	case "rsync":
		return risky{long: []string{"--rsh", "--rsync-path"}, short: "e"}
	case "rg", "ripgrep":
		return risky{long: []string{"--pre", "--hostname-bin"}}
	case "man":
		return risky{long: []string{"--pager", "--html"}, short: "PH"}
	case "less", "more":
		return risky{long: []string{"--lesskey-src", "--lesskey-file"}, short: "k", plus: true}
	case "vim", "vi", "nvim", "ex", "view", "gvim", "rvim":
		return risky{long: []string{"--cmd"}, short: "cSsuw", plus: true}
	case "split", "csplit":
		return risky{long: []string{"--filter"}}
	case "scp", "sftp":
		return risky{short: "SoDF"}
	case "zip":
		return risky{long: []string{"--unzip-command"}, short: "T"}
	case "jq":
		return risky{long: []string{"--library-path"}, short: "L"}
	case "wget":
		return risky{long: []string{"--use-askpass", "--execute"}, short: "e"}
	case "apt", "apt-get", "dpkg", "aptitude":
		return risky{long: []string{"--option", "--pre-invoke", "--post-invoke", "--config-file"}, short: "oc"}
	case "gcc", "cc", "clang", "c":
		return risky{long: []string{"-wrapper", "-fplugin", "-B"}}
	case "psql", "mysql", "sqlite", "mariadb":
		return risky{long: []string{"--init-command", "--init", "--cmd"}}
	case "tcpdump":
		return risky{short: "z"}
	case "logrotate", "ctags", "cscope":
		return risky{long: []string{"--options"}}
	}
	return risky{}
}

// riskyOption finds the first operand that is such an option.
func riskyOption(words []string) string {
	if plainName(baseName(words[0])) == "git" {
		return riskyGit(words)
	}
	k := riskyFor(words[0])
	for _, w := range words[1:] {
		switch {
		case w == "--":
			return ""
		case k.hits(w):
			return w
		}
	}
	return ""
}

func (k risky) hits(w string) bool {
	name, _, _ := strings.Cut(w, "=")
	for _, l := range k.long {
		if name == l || strings.HasPrefix(w, "--") && len(name) > 3 && strings.HasPrefix(l, name) || !strings.HasPrefix(l, "--") && strings.HasPrefix(w, l) {
			return true
		}
	}
	if k.plus && strings.HasPrefix(w, "+") && len(w) > 1 {
		return true
	}
	return !strings.HasPrefix(w, "--") && strings.HasPrefix(w, "-") && k.short != "" && strings.ContainsAny(w[1:], k.short)
}

// riskyGit looks at git's own options and at those of its subcommands that run
// a program.
func riskyGit(words []string) string {
	own := riskyFor("git")
	i := 1
	for ; i < len(words) && strings.HasPrefix(words[i], "-"); i++ {
		if own.hits(words[i]) {
			return words[i]
		}
		if words[i] == "-C" || words[i] == "--namespace" || words[i] == "--work-tree" {
			i++
		}
	}
	if i >= len(words) {
		return ""
	}
	k := gitSubcommand(words[i])
	if k.plus {
		return words[i]
	}
	for _, w := range words[i+1:] {
		if k.hits(w) || strings.HasPrefix(w, "ext::") {
			return w
		}
	}
	return ""
}

// gitSubcommand says what runs programs in a subcommand; plus: it always does.
func gitSubcommand(name string) risky {
	switch name {
	case "bisect", "filter-branch", "submodule", "difftool", "mergetool", "send-email", "daemon", "shell", "instaweb", "hook", "maintenance", "for-each-repo":
		return risky{plus: true}
	case "rebase":
		return risky{long: []string{"--exec"}, short: "x"}
	case "grep":
		return risky{long: []string{"--open-files-in-pager"}, short: "O"}
	case "clone":
		return risky{long: []string{"--upload-pack", "--config", "--template"}, short: "uc"}
	case "fetch", "pull", "ls-remote", "fetch-pack":
		return risky{long: []string{"--upload-pack"}}
	case "push", "send-pack", "archive":
		return risky{long: []string{"--receive-pack", "--exec"}}
	case "config":
		return risky{long: []string{"--edit"}, short: "e"}
	case "init":
		return risky{long: []string{"--template"}}
	}
	return risky{}
}
