package mask

import (
	"bytes"
	b64 "encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// through masks a text that is written in pieces.
func through(s *Set, text []byte, pieces ...int) string {
	var b bytes.Buffer
	w := s.Stream(func(p []byte) { b.Write(p) })
	for _, n := range pieces {
		n = min(max(n, 0), len(text))
		w.Write(text[:n])
		text = text[n:]
	}
	w.Write(text)
	w.Close()
	return b.String()
}

// forms are the ways to write a value that never pass.
func forms(value []byte) map[string]string {
	all := map[string]string{
		"plain": string(value), "hex": hex.EncodeToString(value), "HEX": strings.ToUpper(hex.EncodeToString(value)),
		"query": url.QueryEscape(string(value)), "path": url.PathEscape(string(value)),
		"query in lower case": lowerEscapes(url.QueryEscape(string(value))),
		"spaced hex":          fmt.Sprintf("% x", value), "colons": strings.ReplaceAll(fmt.Sprintf("% x", value), " ", ":"),
		"go": strings.Trim(strconv.QuoteToASCII(string(value)), `"`),
	}
	var full, c strings.Builder
	for _, b := range value {
		fmt.Fprintf(&full, "%%%02X", b)
		fmt.Fprintf(&c, `\x%02x`, b)
	}
	all["every byte percent-encoded"], all["every byte as in C"] = full.String(), c.String()
	js, _ := json.Marshal(string(value))
	all["json"] = strings.Trim(string(js), `"`)
	for lead := range 3 {
		for name, enc := range map[string]*b64.Encoding{"std": b64.StdEncoding, "raw": b64.RawStdEncoding, "url": b64.URLEncoding, "rawurl": b64.RawURLEncoding} {
			text := enc.EncodeToString(append(bytes.Repeat([]byte("x"), lead), value...))
			all[fmt.Sprintf("base64 %s at %d", name, lead)] = text
			all[fmt.Sprintf("base64 %s at %d, wrapped", name, lead)] = wrap(text, 76)
		}
	}
	all["wrapped hex"] = wrap(hex.EncodeToString(value), 60)
	return all
}

func lowerEscapes(s string) string {
	b := []byte(s)
	for i := range b {
		if i > 0 && b[i-1] == '%' || i > 1 && b[i-2] == '%' {
			b[i] |= 0x20 & -(b[i] >> 6 & 1)
		}
	}
	return string(b)
}

func wrap(s string, n int) string {
	var b strings.Builder
	for len(s) > n {
		b.WriteString(s[:n] + "\n")
		s = s[n:]
	}
	return b.String() + s
}

func values() map[string][]byte {
	return map[string][]byte{
		"a token":    []byte("ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
		"six bytes":  []byte("s3cr3t"),
		"odd signs":  []byte(`p%41 a+"s\s'<w>&o=r/d?` + "\t#"),
		"not ASCII":  []byte("gehe\u00efm\u20ac\U0001F511schluessel"),
		"a key":      []byte("-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n7d0q\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END KEY-----"),
		"repeating":  []byte("aaaaaaab"),
		"hex itself": []byte("00deadbeef00"),
	}
}

func TestEveryFormOfAValueIsTakenOut(t *testing.T) {
	for what, value := range values() {
		s := New([]Value{{"db", value}})
		for form, text := range forms(value) {
			for _, around := range [][2]string{{"", ""}, {"password=", "\n"}, {"{\"p\": \"", "\"}"}, {"x", " "}} {
				got := through(s, []byte(around[0]+text+around[1]))
				if !strings.Contains(got, "[credential db]") || leaks(got, value) != "" {
					t.Errorf("%s as %s between %q: %q holds %s", what, form, around, got, leaks(got, value))
				}
			}
		}
	}
}

// leaks names the form in which a value or a line of it is still there.
func leaks(text string, value []byte) string {
	for _, part := range texts(value) {
		for form, is := range forms(part) {
			if !strings.HasPrefix(form, "base64") && strings.Contains(text, is) || strings.Contains(text, b64.StdEncoding.EncodeToString(part)[:len(part)*4/3]) {
				return form
			}
		}
	}
	return ""
}

func TestLinesAreValuesToo(t *testing.T) {
	value := []byte("-----BEGIN KEY-----\n  MIIEvQIBADANBgkq  \r\nshort\n\nBKcwggSjAgEAAoIB\n")
	s := New([]Value{{"key", value}})
	got := through(s, []byte("MIIEvQIBADANBgkq short BKcwggSjAgEAAoIB\n"))
	if got != "[credential key] short [credential key]\n" {
		t.Errorf("%q", got)
	}
}

// A program prints the secret of such a file alone.
func TestSecretsWithinALineAreValuesToo(t *testing.T) {
	for file, secrets := range map[string][]string{
		"https://alice:p%40ss-w0rd@git.example.org\n":                                 {"p%40ss-w0rd", "p@ss-w0rd"},
		"postgres://app:hunter22@db:5432/app?sslmode=require":                         {"hunter22"},
		"db.internal:5432:*:report:pa\\:ss\\\\word\n":                                 {`pa:ss\word`},
		"machine example.org\nlogin bob\npassword correct-horse\n":                    {"correct-horse"},
		"machine example.org login bob password correct-horse":                        {"correct-horse"},
		"//registry.example.org/:_authToken=npm_abcdefgh\n":                           {"npm_abcdefgh"},
		"[default]\naws_access_key_id = AKIAXYZXYZ\naws_secret_access_key = wJalrX":   {"wJalrX"},
		`{"type":"service","private_key":"-----BEGIN KEY-----\nMIIEvQIBADAN\nend\n"}`: {"MIIEvQIBADAN"},
		"token: 'quoted value'\npassword: plainvalue # why":                           {"quoted value", "plainvalue"},
		"DefaultEndpointsProtocol=https;AccountKey=abcdEFGH12==;Suffix=x":             {"abcdEFGH12=="},
		`{"auths":{"r.example.org":{"auth":"dXNlcjpwYXNz"}}}`:                         {"dXNlcjpwYXNz"},
	} {
		s := New([]Value{{"f", []byte(file)}})
		for _, secret := range secrets {
			if got := through(s, []byte("it is "+secret+" here")); got != "it is [credential f] here" {
				t.Errorf("%q: %q", file, got)
			}
		}
	}
	s := New([]Value{{"f", []byte("db.internal:5432:*:report:hunter22\nkeyboard layout: german\nhttps://bob@example.org:443/monkey: none\n")}})
	if text := "db.internal report german example.org monkey"; through(s, []byte(text)) != text {
		t.Errorf("%q", through(s, []byte(text)))
	}
}

func TestWhatIsNoValuePassesUnchanged(t *testing.T) {
	s := New([]Value{{"a", []byte("s3cr3tvalue")}, {"b", []byte("another-one")}})
	for _, text := range []string{"", "x", "s3cr3 tvalue", "s3cr3tvalu", "s3cr3tvalue-"[:5], "\\", "%", "%4", "\\u00", "\\ud83d\\u", "\\x", "QUJD\nREVG", "de ad be ef", "\x00\xff\xfe", "100 %", "\\ud83d\\q"} {
		for n := range len(text) + 1 {
			if got := through(s, []byte(text), n); got != text && !(text == "s3cr3tvalu" && got == "[credential a]") {
				t.Errorf("%q, cut at %d, became %q", text, n, got)
			}
		}
	}
	if got := through(nil, []byte("as it is")); got != "as it is" {
		t.Errorf("without values: %q", got)
	}
}

// A run that is killed while it prints must not leave most of a value behind.
func TestAValueThatTheEndCutsOffIsTakenOutFromItsSixthByteOn(t *testing.T) {
	s := New([]Value{{"a", []byte("0123456789abcdef")}, {"b", []byte("x123456x")}})
	for text, want := range map[string]string{
		"is 012345": "is [credential a]", "is 01234": "is 01234", "is x12345": "is [credential b]",
		"is 30313233343536": "is [credential a]", "is %30%31%32%33%34%35%3": "is [credential a]%3", "is \\u0030123456": "is [credential a]",
	} {
		if got := through(s, []byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := s.Text("sudo 0123456789abc..."); got != "sudo [credential a]..." {
		t.Errorf("a target that was cut: %q", got)
	}
}

func TestValuesThatOverlapHaveOneLabel(t *testing.T) {
	s := New([]Value{{"a", []byte("abcdefgh")}, {"b", []byte("efghijkl")}, {"c", []byte("abcdefghijklmnop")}, {"d", []byte("aaaaaa")}})
	for text, want := range map[string]string{
		"-abcdefghijkl-": "-[credential a]-", "-abcdefghijklmnop-": "-[credential a]-", "efghijklabcdefgh": "[credential b][credential a]",
		strings.Repeat("a", 100) + "-": "[credential d]-",
	} {
		for n := range len(text) {
			if got := through(s, []byte(text), n, 1, 1); got != want {
				t.Errorf("%q, cut at %d: %q, want %q", text, n, got, want)
			}
		}
	}
}

func FuzzNoValueSurvivesAndCutsChangeNothing(f *testing.F) {
	for _, v := range values() {
		for _, text := range forms(v) {
			f.Add(v, []byte("second-value"), []byte("before "+text+" second-value "+text[:len(text)/2]), uint64(7))
		}
	}
	f.Fuzz(func(t *testing.T, value, other, text []byte, seed uint64) {
		if len(value) > 300 || len(text) > 4000 || len(Core(value)) < MinBytes {
			return
		}
		all := []Value{{"x", value}}
		if len(other) <= 300 && len(Core(other)) >= MinBytes {
			all = append(all, Value{"y", other})
		}
		s := New(all)
		r := rand.New(rand.NewPCG(seed, 1))
		list := forms(value)
		names := make([]string, 0, len(list))
		for n := range list {
			names = append(names, n)
		}
		for range 3 { // also in whatever surroundings the fuzzer finds
			text = append(text, list[names[r.IntN(len(names))]]...)
			text = append(text, ' ')
		}
		whole := through(s, text)
		var cuts []int
		for range 40 {
			cuts = append(cuts, r.IntN(40))
		}
		if got := through(s, text, cuts...); got != whole {
			t.Fatalf("%q in pieces gives %q, whole %q", text, got, whole)
		}
		for _, v := range all {
			for _, part := range texts(v.Bytes) {
				if strings.ContainsAny(string(part), "[]") || strings.Contains("[credential x][credential y]", string(part)) {
					continue // a label may hold it
				}
				for _, rest := range strings.FieldsFunc(whole, func(r rune) bool { return r == '[' || r == ']' }) {
					if strings.Contains(rest, string(part)) {
						t.Fatalf("%q still holds %q", whole, part)
					}
				}
			}
		}
	})
}

// Text that is made to keep every decoder busy takes no more than linear time.
func TestHostileTextTakesLinearTime(t *testing.T) {
	value := []byte(strings.Repeat("a", 60<<10) + "b")
	s := New([]Value{{"x", value}})
	text := bytes.Repeat([]byte("a"), 4<<20)
	start := time.Now()
	w := s.Stream(func([]byte) {})
	most := 0
	for part := range 4 << 10 {
		w.Write(text[part<<10 : (part+1)<<10])
		most = max(most, cap(w.buf))
	}
	w.Close()
	t.Logf("4 MiB in %s, %d KiB held back", time.Since(start), most>>10)
	if most > 1<<20 || time.Since(start) > time.Minute {
		t.Errorf("%d bytes were held back, it took %s", most, time.Since(start))
	}
}

func TestClearedSetsHoldNoValue(t *testing.T) {
	s := New([]Value{{"x", []byte("s3cr3tvalue")}})
	s.Clear()
	for n, c := range s.a.label {
		if c != 0 {
			t.Errorf("node %d still says %q", n, c)
		}
	}
	(*Set)(nil).Clear()
}

func BenchmarkMask(b *testing.B) {
	s := New([]Value{{"x", []byte("ghp_16C7e42F292c6912E7710c838347Ae178B4a")}})
	line := []byte("2026-11-30T12:00:00Z INFO worker 17 copied /srv/data/report-2026-11.csv, 123456 bytes in 0.31 s\n")
	text := bytes.Repeat(line, 10000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		w := s.Stream(func([]byte) {})
		w.Write(text)
		w.Close()
	}
}

// What is kept for the most that a job may have stays bounded.
func TestTheLargestValuesTakeBoundedMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var all []Value
	for i := range 4 {
		value := make([]byte, 64<<10)
		for k := range value {
			value[k] = "abcdefghijklmnopqrstuvwxyz0123456789\n"[r.IntN(37)]
		}
		all = append(all, Value{fmt.Sprint(i), value})
	}
	start := time.Now()
	s := New(all)
	size := len(s.a.label) * 25
	t.Logf("%d nodes, %d MiB, made in %s", len(s.a.label), size>>20, time.Since(start))
	if size > 64<<20 || time.Since(start) > 30*time.Second {
		t.Errorf("%d MiB, made in %s", size>>20, time.Since(start))
	}
	if got := through(s, append([]byte("<"), append(bytes.Clone(all[3].Bytes), '>')...)); got != "<[credential 3]>" {
		t.Errorf("%.80q", got)
	}
}
