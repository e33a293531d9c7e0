package cli

import (
	"strings"
)

// signalNames are Linux's signals by number (signal(7), x86 and arm). Records
// carry names; this table works where the command line runs on another system.
var signalNames = [...]string{1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 5: "TRAP", 6: "ABRT", 7: "BUS", 8: "FPE",
	9: "KILL", 10: "USR1", 11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 16: "STKFLT", 17: "CHLD",
	18: "CONT", 19: "STOP", 20: "TSTP", 21: "TTIN", 22: "TTOU", 23: "URG", 24: "XCPU", 25: "XFSZ", 26: "VTALRM",
	27: "PROF", 28: "WINCH", 29: "IO", 30: "PWR", 31: "SYS"}

// signalNumber knows "SIGKILL" and "KILL"; 0 stands for a name it does not know.
func signalNumber(name string) int {
	name = strings.TrimPrefix(strings.ToUpper(name), "SIG")
	for n, s := range signalNames {
		if s == name && n > 0 {
			return n
		}
	}
	return 0
}
