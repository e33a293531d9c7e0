package jobspec

// ProtectedNames are the entries of a writable directory that a job may read
// but not change where they exist: what other programs run, load or trust when
// a person next works there. Each is bound whole, because a read-only
// .git/hooks inside a writable .git is moved away with its parent. A name that
// does not exist is not mounted over, as that would create it on the host.
func ProtectedNames() []string {
	return []string{
		".git", ".gitconfig", ".gitmodules", ".gitattributes", ".hg", ".svn",
		".claude", ".codex", ".gemini", ".agents", ".cursor", ".aider.conf.yml", ".mcp.json", "CLAUDE.md", "AGENTS.md", "GEMINI.md",
		".vscode", ".idea", ".devcontainer", ".editorconfig", ".envrc", ".direnv",
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
		".inputrc", ".ripgreprc", ".npmrc", ".pypirc", ".netrc", ".ssh", ".gnupg", ".husky", ".pre-commit-config.yaml",
	}
}

// GitFolder is the folder that fs.git is about.
const GitFolder = ".git"

// GitCommit is the value of fs.git that opens .git for commits.
const GitCommit = "commit"

// ProtectedGitNames are the entries of .git that stay read-only, or must not
// appear, where fs.git is "commit": they say which programs git runs (config,
// hooks, info/attributes with its filters) or where git looks for these
// (commondir and worktrees name other folders, modules hold repositories with
// configs and hooks of their own, config.worktree is a second config, remotes and
// branches are old forms of remotes), or are lists of commands that git goes on
// with when a person says --continue (rebase-merge, rebase-apply).
func ProtectedGitNames() []string {
	return []string{"config", "hooks", "info", "modules", "config.worktree", "commondir", "worktrees", "remotes", "branches",
		"rebase-merge", "rebase-apply"}
}

// mayCreateNames are the names that fs.may_create can list.
func mayCreateNames() []string {
	names := ProtectedNames()
	for _, n := range ProtectedGitNames() {
		names = append(names, GitFolder+"/"+n)
	}
	return names
}
