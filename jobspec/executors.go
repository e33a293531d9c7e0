package jobspec

// executor is a program that starts another one in ways of its own: it is
// always asked about, and read as far as its options are known.
type executor struct {
	grammar
	operands int  // own operands before the command
	joins    bool // the operands are joined into a text for sh(1)
}

// executorFor gives how a program's command line is read; false where it is not.
func executorFor(word string) (*executor, bool) {
	switch plainName(baseName(word)) {
	case "xargs", "gxargs":
		return &executor{grammar: grammar{flag: "0rtpxo", value: "adEILnPs", rest: "eil", long: map[string]optionKind{
			"--null": flagOption, "--arg-file": valueOption, "--delimiter": valueOption, "--eof": restOption, "--replace": restOption,
			"--max-lines": restOption, "--max-args": valueOption, "--max-procs": valueOption, "--max-chars": valueOption,
			"--interactive": flagOption, "--no-run-if-empty": flagOption, "--verbose": flagOption, "--exit": flagOption,
			"--open-tty": flagOption, "--show-limits": flagOption, "--process-slot-var": valueOption}}}, true
	case "flock":
		return &executor{operands: 1, grammar: grammar{flag: "sxeunoFv", value: "wE", long: map[string]optionKind{
			"--shared": flagOption, "--exclusive": flagOption, "--unlock": flagOption, "--nonblock": flagOption, "--nb": flagOption,
			"--close": flagOption, "--no-fork": flagOption, "--verbose": flagOption, "--timeout": valueOption, "--wait": valueOption,
			"--conflict-exit-code": valueOption}}}, true
	case "watch":
		return &executor{joins: true, grammar: grammar{flag: "bcegprtwxC", value: "nq", rest: "d", long: map[string]optionKind{
			"--beep": flagOption, "--color": flagOption, "--errexit": flagOption, "--chgexit": flagOption, "--precise": flagOption,
			"--no-title": flagOption, "--exec": flagOption, "--interval": valueOption, "--differences": restOption, "--no-wrap": flagOption}}}, true
	case "script":
		return &executor{operands: 1, grammar: grammar{flag: "aefq", code: "c", value: "EoIOBTm", long: map[string]optionKind{
			"--command": codeOption, "--append": flagOption, "--return": flagOption, "--flush": flagOption, "--quiet": flagOption, "--force": flagOption}}}, true
	case "strace", "ltrace":
		return &executor{grammar: grammar{flag: "cCdfFiknqrtTvwxyzZY", value: "abeEIoOpPsSuUX"}}, true
	case "choom", "cgexec":
		return &executor{grammar: grammar{value: "ngp"}}, true
	case "setarch", "faketime", "direnv":
		return &executor{operands: 1, grammar: grammar{flag: "hvBFILRSTXZm3"}}, true
	case "linux", "eatmydata", "nocache", "chronic", "ifne", "unbuffer", "catchsegv", "dbus-run-session", "dumb-init", "tini", "ccache", "rlwrap", "valgrind":
		return &executor{}, true
	case "fakeroot":
		return &executor{grammar: grammar{flag: "uv", value: "lsib"}}, true
	}
	return nil, false
}

// isExecutor reports whether the program starts other programs that it is told.
func isExecutor(word string) bool {
	switch plainName(baseName(word)) {
	case "xargs", "gxargs", "parallel", "sem", "watch", "flock", "script", "expect", "strace", "ltrace", "gdb", "lldb", "tmux", "screen",
		"docker", "podman", "nerdctl", "ssh", "mosh", "rsh", "entr", "busybox", "toybox", "start-stop-daemon", "daemonize", "dbus-run-session",
		"dbus-launch", "faketime", "fakeroot", "proot", "catchsegv", "valgrind", "perf", "setarch", "linux", "prlimit", "choom", "cgexec",
		"eatmydata", "nocache", "chronic", "ifne", "unbuffer", "rlwrap", "dumb-init", "tini", "ccache", "distcc", "hyperfine", "run-parts",
		"direnv", "nix-shell", "nix", "kubectl", "crictl", "lxc", "incus", "vagrant", "emacs", "ed", "dc", "systemd-cat", "cpulimit", "nsjail":
		return true
	}
	return isLoader(word)
}
