package jobspec

import "strings"

// The environment of a job starts empty, so a list of bad names is not what
// keeps it clean; it keeps an owner from approving a variable that changes which
// code runs without noticing. Names are compared in one case.

// isEnvName reports whether s is a name that a shell would accept.
func isEnvName(s string) bool {
	if s == "" || len(s) > 64 || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z') {
			return false
		}
	}
	return true
}

// forbiddenEnv are the names that no job sets: they load code, change what a
// shell or the C library does, belong to the fixed base, or tell a program that
// nobody needs to be asked.
const forbiddenEnv = " GCONV_PATH GLIBC_TUNABLES BASH_ENV ENV SHELLOPTS BASHOPTS PS4 IFS PROMPT_COMMAND ZDOTDIR FPATH KSH_ENV" +
	" PATH HOME SHELL TMPDIR STATE_DIRECTORY CREDENTIALS_DIRECTORY CDPATH LOCPATH NLSPATH HOSTALIASES RESOLV_HOST_CONF RIPGREP_CONFIG_PATH" +
	" IS_SANDBOX CLAUDE_CODE_BUBBLEWRAP HERMES_YOLO_MODE HERMES_INTERACTIVE HERMES_EXEC_ASK GEMINI_CLI_TRUST_WORKSPACE OPENCODE_PERMISSION" +
	" AIDER_YES AIDER_YES_ALWAYS GEMINI_YOLO OPENCLAW_ELEVATED COPILOT_ALLOW_ALL CLAUDE_CODE_SKIP_PERMISSIONS "

// askedEnv are the names that are set only when the owner says so. The last line
// answers yes to questions.
const askedEnv = " JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAKEFLAGS RUSTC_WRAPPER KUBECONFIG EDITOR VISUAL PAGER" +
	" LESSOPEN LESSCLOSE LESS BROWSER TCLLIBPATH CLASSPATH MANPAGER MANOPT TAR_OPTIONS RSYNC_RSH RSYNC_CONNECT_PROG FCEDIT LUA_INIT LUA_PATH LUA_CPATH" +
	" JQ_LIBRARY_PATH AWKPATH AWKLIBPATH VIMINIT EXINIT PSQLRC MYSQL_HOME OPENSSL_CONF CURL_HOME WGETRC INPUTRC TERMINFO GDBINIT R_PROFILE R_ENVIRON JULIA_LOAD_PATH" +
	" CONDA_ALWAYS_YES DEBIAN_PRIORITY PIP_YES APT_CONFIG GEMINI_SANDBOX GOOSE_MODE CODEX_HOME "

// envEffect says what the floor thinks of a variable: deny, ask or, for none of
// both, "".
func envEffect(name, value string) effect {
	n := strings.ToUpper(name)
	switch {
	case !isEnvName(name), strings.Contains(forbiddenEnv, " "+n+" "),
		hasAnyPrefix(n, "LD_", "DYLD_", "MALLOC_", "BASH_FUNC_", "SBXCRON_"):
		return effectDeny
	case n == "GOOSE_MODE":
		return gooseMode(value)
	case isGitIdentity(n):
		return ""
	case strings.Contains(askedEnv, " "+n+" "),
		hasAnyPrefix(n, "PYTHON", "PERL5", "RUBY", "NODE_", "GIT_", "SSH_", "SSL_", "PIP_", "UV_", "NPM_", "CARGO_", "GO",
			"DOCKER_", "AWS_", "GOOGLE_", "AZURE_", "DOTNET_"),
		hasAnySuffix(n, "_OPTS", "_PROXY", "_CA_BUNDLE", "_CONFIG_PATH"):
		return effectAsk
	}
	return ""
}

// EnvForbidden reports whether the floor lets no job set a variable to a value.
func EnvForbidden(name, value string) bool { return envEffect(name, value) == effectDeny }

// gooseMode: one agent is told by a variable alone to ask, and left alone
// approves everything.
func gooseMode(value string) effect {
	switch strings.ToLower(value) {
	case "approve", "smart_approve", "chat":
		return ""
	}
	return effectDeny
}

// isGitIdentity reports whether the name only says who made a commit, and when.
func isGitIdentity(n string) bool {
	who, ok := strings.CutPrefix(n, "GIT_AUTHOR_")
	if !ok {
		who, ok = strings.CutPrefix(n, "GIT_COMMITTER_")
	}
	return ok && (who == "NAME" || who == "EMAIL" || who == "DATE")
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func hasAnySuffix(s string, suffixes ...string) bool {
	for _, p := range suffixes {
		if strings.HasSuffix(s, p) {
			return true
		}
	}
	return false
}
