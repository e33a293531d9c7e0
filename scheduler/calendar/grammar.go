package calendar

import "strings"

// maxExpr bounds the text of a schedule, in bytes.
const maxExpr = 256

// field is one of the five fields: its name in messages, its bounds, and the
// names that stand for numbers.
type field struct {
	name   string
	lo, hi int
	names  []string // names[i] stands for lo+i
}

// The five fields in their order. Day 7 is Sunday too; the gate turns it into 0.
const (
	minute = iota
	hour
	dayOfMonth
	month
	dayOfWeek
)

var fields = [5]field{
	minute:     {name: "minute", lo: 0, hi: 59},
	hour:       {name: "hour", lo: 0, hi: 23},
	dayOfMonth: {name: "day of month", lo: 1, hi: 31},
	month:      {name: "month", lo: 1, hi: 12, names: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	dayOfWeek:  {name: "day of week", lo: 0, hi: 7, names: strings.Fields("sun mon tue wed thu fri sat")},
}

// shorthand maps the names to what they stand for; crond knows the same, in
// lower case only.
var shorthand = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
	"@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
	"@hourly": "0 * * * *",
}

// checked is a text that passed the gate: plain numbers, ranges and steps.
type checked struct {
	text [5]string // what the parser of bits reads: digits, '-', '/' and ',' only
	raw  [5]string // as written
	star [5]bool   // the field begins with '*', which crond's rules ask for
}

// check is the gate: everything that it lets through has one meaning.
func check(expr string) (checked, *refusal) {
	var c checked
	plain, r := checkText(expr)
	if r != nil {
		return c, r
	}
	parts, r := split(plain)
	if r != nil {
		return c, r
	}
	for i, part := range parts {
		text, r := fields[i].check(part)
		if r != nil {
			return c, r
		}
		c.text[i], c.raw[i], c.star[i] = text, part, part[0] == '*'
	}
	return c, nil
}

// checkText looks at the characters. Trailing line ends and blanks around the
// text are dropped; nothing else is.
func checkText(expr string) (string, *refusal) {
	if len(expr) > maxExpr {
		return "", refuse("", "%d bytes, at most %d", len(expr), maxExpr)
	}
	for i, r := range expr {
		switch {
		case r > 0x7e:
			return "", refuse("use plain ASCII characters and blanks", "character at byte %d is not ASCII", i)
		case r == '\n' || r == '\r' || r == '\t':
		case r < ' ':
			return "", refuse("remove it", "control character at byte %d", i)
		}
	}
	plain := strings.Trim(strings.TrimRight(expr, "\r\n"), " \t")
	if strings.ContainsAny(plain, "\r\n") {
		return "", refuse("a job has one schedule; add a second job for the second line", "more than one line")
	}
	return plain, nil
}

// split takes the text apart into five fields.
func split(plain string) ([]string, *refusal) {
	upper := strings.ToUpper(plain)
	switch {
	case plain == "":
		return nil, refuse(`write five fields, such as "30 2 * * *"`, "empty")
	case strings.HasPrefix(upper, "TZ=") || strings.HasPrefix(upper, "CRON_TZ="):
		return nil, refuse("give the zone in the timezone field", "a zone prefix is not part of a schedule")
	case strings.Contains(plain, "#") && strings.Contains(plain, " #"):
		return nil, refuse("use the note field", "a comment is not part of a schedule")
	case plain[0] == '@':
		return splitName(plain)
	}
	parts := strings.FieldsFunc(plain, func(r rune) bool { return r == ' ' || r == '\t' })
	switch {
	case len(parts) > len(fields):
		return nil, tooMany(parts)
	case len(parts) < len(fields):
		return nil, tooFew(plain, parts)
	}
	return parts, nil
}

func splitName(plain string) ([]string, *refusal) {
	if stands, ok := shorthand[plain]; ok {
		return strings.Fields(stands), nil
	}
	word := strings.ToLower(strings.Fields(plain)[0])
	switch {
	case word == "@reboot":
		return nil, refuse("give the job a time", "@reboot is not supported: a job runs at times that the owner signed")
	case strings.HasPrefix(word, "@every"):
		return nil, refuse(everyAdvice(strings.TrimPrefix(strings.ToLower(plain), "@every")), "@every is not supported")
	case shorthand[word] != "" && len(plain) == len(word):
		return nil, refuse("write "+word, "names are lower case")
	}
	return nil, refuse("the names are @hourly @daily @midnight @weekly @monthly @yearly @annually", "unknown name")
}
