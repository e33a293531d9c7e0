package runner

import (
	"io"
	"strings"
)

// shebangBytes is how much of a file's head execve(2) looks at
// (BINPRM_BUF_SIZE), and ShebangDepth how many interpreters may be texts
// themselves before it gives up (exec_binprm in fs/exec.c).
const (
	shebangBytes = 256
	ShebangDepth = 5
)

// shebang is what the first line of a text makes the kernel start.
type shebang struct {
	interp string   // as written
	args   []string // one argument, or none; the one can be empty
}

// parseShebang reads the head of a file as the kernel does (load_script in
// fs/binfmt_script.c): one optional argument, inner blanks kept, blanks around
// it trimmed; a name or argument ends at a zero byte; a line that does not end
// within the head is cut, if at least its interpreter ends. It returns false
// where the kernel would not take the file for a script.
func parseShebang(head []byte) (shebang, bool) {
	var buf [shebangBytes]byte
	copy(buf[:], head)
	if buf[0] != '#' || buf[1] != '!' {
		return shebang{}, false
	}
	line, _, ended := strings.Cut(string(buf[2:]), "\n")
	if !ended {
		line = string(buf[2 : len(buf)-1])
		name := strings.TrimLeft(line, " \t")
		if name == "" || !strings.ContainsAny(name, " \t\x00") {
			return shebang{}, false
		}
	}
	line = strings.Trim(line, " \t")
	end := strings.IndexAny(line, " \t\x00")
	if end < 0 {
		end = len(line)
	}
	s := shebang{interp: line[:end]}
	if rest := strings.TrimLeft(line[end:], " \t"); rest != "" && line[end] != 0 {
		arg, _, _ := strings.Cut(rest, "\x00")
		s.args = []string{arg}
	}
	return s, s.interp != ""
}

// Interpreter is what the first line of a file makes the kernel start, "" for a
// file that is no script.
func Interpreter(f io.ReaderAt) string {
	line, _ := parseShebang(head(f))
	return line.interp
}

// argv is the argument list that the kernel makes of the script's own: the
// interpreter as written, its argument, the script's path in place of argv[0].
func (s shebang) argv(script string, old []string) []string {
	list := append([]string{s.interp}, s.args...)
	return append(append(list, script), old[1:]...)
}
