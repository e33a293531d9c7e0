package jobspec

import "strings"

// sed binds the script files of sed(1) and asks about scripts that run programs
// or write files: the commands e and w, and the flags e and w of s.
func (r *reading) sed(words []string, c around) {
	g := grammar{flag: "nrsuzE", rest: "i", code: "e", file: "f", value: "l", long: map[string]optionKind{
		"--quiet": flagOption, "--silent": flagOption, "--expression": codeOption, "--file": fileOption, "--in-place": restOption,
		"--regexp-extended": flagOption, "--separate": flagOption, "--unbuffered": flagOption, "--null-data": flagOption, "--posix": flagOption,
		"--line-length": valueOption, "--follow-symlinks": flagOption, "--debug": flagOption, "--sandbox": exitOption, "--version": exitOption, "--help": exitOption},
		firstIsCode: true}
	v := g.read(words[1:])
	if v.exits && v.unknown == "" {
		return // sed refuses e and w itself under --sandbox
	}
	risky := v.unknown != ""
	for _, text := range v.code {
		risky = risky || sedRuns(text)
	}
	if risky {
		r.find(ruleOpaque, words)
	}
	for _, f := range v.files {
		if c.role != "" {
			r.target(RoleScript, f)
			continue
		}
		r.find(ruleLoads, words)
	}
}

// sedRuns reports whether a script holds a command that runs or writes, or one
// that is not followed here.
func sedRuns(script string) bool {
	for i := 0; i < len(script); {
		i = sedAddress(script, i)
		if i >= len(script) {
			return false
		}
		c := script[i]
		i++
		switch c {
		case ' ', '\t', '\n', ';', '{', '}', '!', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', '=', 'F':
		case 'q', 'Q', 'l', 'L':
			i = skipTo(script, i, ";\n}")
		case 's', 'y':
			end, flags, ok := sedSubstitution(script, i)
			if !ok || strings.ContainsAny(flags, "ew") && c == 's' {
				return true
			}
			i = end
		case 'a', 'i', 'c', '#':
			i = skipTo(script, i, "\n")
		case ':', 'b', 't', 'T', 'r', 'R', 'v':
			i = skipTo(script, i, ";\n}")
		default:
			return true
		}
	}
	return false
}

func skipTo(s string, i int, stops string) int {
	for i < len(s) && strings.IndexByte(stops, s[i]) < 0 {
		if s[i] == '\\' {
			i++
		}
		i++
	}
	return min(i, len(s))
}

// sedAddress passes over the addresses before a command.
func sedAddress(s string, i int) int {
	for i < len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9' || strings.IndexByte("$,~+ \t", c) >= 0:
			i++
		case c == '/' || c == '\\' && i+1 < len(s):
			delimiter := c
			if c == '\\' {
				i++
				delimiter = s[i]
			}
			i = skipTo(s, i+1, string(delimiter)) + 1
			for i < len(s) && (s[i] == 'I' || s[i] == 'M') {
				i++
			}
		default:
			return i
		}
	}
	return i
}

// sedSubstitution passes over the two parts and the flags of s and y.
func sedSubstitution(s string, i int) (end int, flags string, ok bool) {
	if i >= len(s) || s[i] == '\n' || s[i] == '\\' {
		return 0, "", false
	}
	delimiter := string(s[i])
	i++
	for range 2 {
		i = skipTo(s, i, delimiter)
		if i >= len(s) {
			return 0, "", false
		}
		i++
	}
	begin := i
	for i < len(s) && strings.IndexByte("gpiImMew0123456789", s[i]) >= 0 {
		if s[i] == 'w' {
			return i, "w", true
		}
		i++
	}
	return i, s[begin:i], true
}
