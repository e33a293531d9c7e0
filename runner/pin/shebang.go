package pin

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// SearchPath is where bare names are looked for: the PATH of every job.
func SearchPath() []string { return []string{"/usr/local/bin", "/usr/bin", "/bin"} }

// shebangBytes is how much of a file the kernel looks at (BINPRM_BUF_SIZE,
// linux/binfmts.h).
const shebangBytes = 256

// Shebang reads the "#!" line of an open file as the kernel does (execve(2)):
// the interpreter up to the first blank, then everything up to the end of the
// line, without blanks around it, as one argument. ok is false for a file
// without such a line and for one that the kernel refuses. It reads at offset 0
// and leaves the file's own offset alone.
func Shebang(file io.ReaderAt) (interp, arg string, ok bool) {
	buf := make([]byte, shebangBytes)
	n, err := file.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", "", false
	}
	rest, is := bytes.CutPrefix(buf[:n], []byte("#!"))
	if !is {
		return "", "", false
	}
	line, _, ended := bytes.Cut(rest, []byte("\n"))
	if !ended && n == shebangBytes {
		line = line[:len(line)-1] // the kernel puts its final NUL there
	}
	line = bytes.TrimLeft(line, " \t")
	end := bytes.IndexAny(line, " \t\x00")
	if end < 0 {
		// A name cut off by the end of the buffer would be another name.
		whole := ended || n < shebangBytes
		return string(line), "", whole && len(line) > 0
	}
	if end == 0 {
		return "", "", false
	}
	word, _, _ := bytes.Cut(line[end:], []byte{0})
	return string(line[:end]), string(bytes.Trim(word, " \t")), true
}

// envProgram reads the argument of "#!/usr/bin/env": a program's name, or "-S"
// with a name and words for it. Assignments and every other option are refused,
// since they decide what runs in ways that a digest does not show.
func envProgram(arg string) (string, bool) {
	words := strings.Fields(arg)
	if len(words) > 1 && words[0] == "-S" {
		words = words[1:2]
	}
	if len(words) != 1 || strings.HasPrefix(words[0], "-") || strings.ContainsAny(words[0], "='\"\\$") {
		return "", false
	}
	return words[0], true
}
