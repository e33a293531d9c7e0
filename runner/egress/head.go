package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bounds of what a client sends before its body.
const (
	headBuffer = 16 << 10 // also the longest line
	maxHead    = 64 << 10
	maxFields  = 128
)

// head is the head of a request that has exactly one reading.
type head struct {
	method, target string
	minor          int // of HTTP/1
	fields         []field
}

type field struct{ name, value string } // name in lower case

// malformed is a request that could be read in more than one way, or in none.
type malformed struct{ what string }

func (m *malformed) Error() string { return m.what }

func bad(format string, args ...any) error { return &malformed{fmt.Sprintf(format, args...)} }

// readHead reads a head. What servers read in different ways is refused: lines
// without CR, folded fields, spaces around names, control bytes, and fields that
// frame the message or name its host more than once (RFC 9112, 11.2).
func readHead(r *bufio.Reader) (*head, error) {
	line, size := "", 0
	next := func() error {
		text, err := r.ReadSlice('\n')
		size += len(text)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) || size > maxHead:
			return bad("the head is longer than %d bytes, or a line of it than %d", maxHead, headBuffer)
		case err == io.EOF && size > 0:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case len(text) < 2 || text[len(text)-2] != '\r':
			return bad("a line that does not end with CR LF")
		}
		line = string(text[:len(text)-2])
		return nil
	}
	if err := next(); err != nil {
		return nil, err
	}
	h, err := readRequestLine(line)
	if err != nil {
		return nil, err
	}
	for {
		if err := next(); err != nil {
			return nil, err
		}
		if line == "" {
			return h, h.check()
		}
		f, err := readField(line)
		if err != nil {
			return nil, err
		}
		if h.fields = append(h.fields, f); len(h.fields) > maxFields {
			return nil, bad("more than %d fields", maxFields)
		}
	}
}

func readRequestLine(line string) (*head, error) {
	parts := strings.Split(line, " ")
	if len(parts) != 3 || !isToken(parts[0]) || !isVisible(parts[1]) {
		return nil, bad("the first line is no request of HTTP/1")
	}
	h := &head{method: parts[0], target: parts[1], minor: 1}
	switch parts[2] {
	case "HTTP/1.1":
	case "HTTP/1.0":
		h.minor = 0
	default:
		return nil, bad("the version is neither HTTP/1.1 nor HTTP/1.0")
	}
	return h, nil
}

func readField(line string) (field, error) {
	name, value, ok := strings.Cut(line, ":")
	if !ok || !isToken(name) {
		return field{}, bad("a field without a plain name, or folded over two lines")
	}
	value = strings.Trim(value, " \t")
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return field{}, bad("a control byte in field %s", strings.ToLower(name))
		}
	}
	return field{strings.ToLower(name), value}, nil
}

// check refuses heads that say twice, or in two ways, where the message ends or
// whom it is for.
func (h *head) check() error {
	for _, once := range []string{"host", "content-length", "transfer-encoding", "expect", "upgrade"} {
		if len(h.values(once)) > 1 {
			return bad("field %s stands there more than once", once)
		}
	}
	length, framed := h.value("content-length")
	coding, chunked := h.value("transfer-encoding")
	_, hosted := h.value("host")
	switch {
	case framed && chunked:
		return bad("both content-length and transfer-encoding")
	case chunked && (h.minor == 0 || !strings.EqualFold(coding, "chunked")):
		return bad("a transfer-encoding other than chunked of HTTP/1.1")
	case framed && !isLength(length):
		return bad("content-length is no plain number")
	case !hosted && h.minor == 1:
		return bad("no field host")
	case h.method == "CONNECT" && (framed && length != "0" || chunked):
		return bad("CONNECT with a body")
	}
	return nil
}

func (h *head) values(name string) []string {
	var all []string
	for _, f := range h.fields {
		if f.name == name {
			all = append(all, f.value)
		}
	}
	return all
}

func (h *head) value(name string) (string, bool) {
	all := h.values(name)
	if len(all) == 0 {
		return "", false
	}
	return all[0], true
}

// length is the number of bytes of the body, -1 where it comes in chunks.
func (h *head) length() int64 {
	if _, chunked := h.value("transfer-encoding"); chunked {
		return -1
	}
	text, _ := h.value("content-length")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// listed are the words of a field that is a list, in lower case.
func (h *head) listed(name string) []string {
	var all []string
	for _, v := range h.values(name) {
		for word := range strings.SplitSeq(v, ",") {
			all = append(all, strings.ToLower(strings.TrimSpace(word)))
		}
	}
	return all
}

func isLength(s string) bool {
	return s != "" && len(s) <= 18 && strings.Trim(s, "0123456789") == ""
}

// isToken reports whether s may name a method or a field (RFC 9110, 5.6.2).
func isToken(s string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(marks, r)
	}) < 0
}

func isVisible(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) < 0
}
