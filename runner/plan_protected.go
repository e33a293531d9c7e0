package runner

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
