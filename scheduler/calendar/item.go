package calendar

import (
	"fmt"
	"strconv"
	"strings"
)

// check reads one field, a list of items, and writes it as numbers.
func (f *field) check(text string) (string, *refusal) {
	if text != "" && !strings.Contains(text, ",") {
		return f.item(text)
	}
	var plain []string
	for _, item := range strings.Split(text, ",") {
		if item == "" {
			return "", refuse("remove the comma", "%s %q has an empty list item", f.name, text)
		}
		numbers, r := f.item(item)
		if r != nil {
			return "", r
		}
		plain = append(plain, numbers)
	}
	return strings.Join(plain, ","), nil
}

// item reads "*", "*/n", "v", "v-w" or "v-w/n".
func (f *field) item(item string) (string, *refusal) {
	body, step, stepped := strings.Cut(item, "/")
	lo, hi, r := f.span(item, body, stepped)
	if r != nil {
		return "", r
	}
	by := 1
	if stepped {
		if by, r = f.step(item, step, lo, hi); r != nil {
			return "", r
		}
	}
	return f.numbers(lo, hi, by), nil
}

func (f *field) span(item, body string, stepped bool) (lo, hi int, r *refusal) {
	if body == "*" {
		return f.lo, f.top(), nil
	}
	from, to, ranged := strings.Cut(body, "-")
	lo, ok := f.value(from)
	if !ok {
		return 0, 0, f.explain(item, from)
	}
	if !ranged {
		if stepped {
			return 0, 0, refuse(fmt.Sprintf("write %d-%d/n", lo, f.top()), "%s %q: a step after a single value is read in different ways", f.name, item)
		}
		return lo, lo, nil
	}
	hi, ok = f.value(to)
	if !ok {
		return 0, 0, f.explain(item, to)
	}
	if f.hi == 7 && hi == 0 && lo > 0 && strings.EqualFold(to, "sun") {
		hi = 7 // sat-sun ends the week, sun-tue begins it
	}
	if lo > hi {
		return 0, 0, refuse(f.unwrap(lo, hi), "%s %q: the range ends before it begins", f.name, item)
	}
	return lo, hi, nil
}

func (f *field) step(item, text string, lo, hi int) (int, *refusal) {
	n, ok := number(text)
	switch {
	case !ok || n == 0:
		return 0, refuse("write a step of one or two digits, at least 1", "%s %q: step %q is not a number", f.name, item, text)
	case n > hi-lo:
		return 0, refuse(f.stepAdvice(n),
			"%s %q: step %d is larger than the range %d-%d, so it would never step", f.name, item, n, lo, hi)
	}
	return n, nil
}

// top is the highest value that "*" stands for: Sunday counts once.
func (f *field) top() int {
	if f.hi == 7 {
		return 6
	}
	return f.hi
}

// value reads a number of at most two digits within the bounds, or a name.
func (f *field) value(text string) (int, bool) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.lo + i, true
		}
	}
	n, ok := number(text)
	return n, ok && n >= f.lo && n <= f.hi
}

func number(text string) (int, bool) {
	if text == "" || len(text) > 2 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// numbers writes a range for the parser of bits, which knows no Sunday 7.
func (f *field) numbers(lo, hi, by int) string {
	if f.hi != 7 || hi < 7 {
		return strconv.Itoa(lo) + "-" + strconv.Itoa(hi) + "/" + strconv.Itoa(by)
	}
	var days []string
	for d := lo; d <= hi; d += by {
		days = append(days, strconv.Itoa(d%7))
	}
	return strings.Join(days, ",")
}

// unwrap says how to write a range that goes past the end of the field.
func (f *field) unwrap(lo, hi int) string {
	if f.hi == 7 && lo == 7 {
		return fmt.Sprintf("write 0-%d", hi)
	}
	if f.hi == 7 && hi == 0 {
		return fmt.Sprintf("write %d-7", lo)
	}
	if lo == f.top() {
		return fmt.Sprintf("write %d,%d-%d", lo, f.lo, hi)
	}
	return fmt.Sprintf("write %d-%d,%d-%d", lo, f.top(), f.lo, hi)
}

// explain refuses a value, with what the writer may have meant.
func (f *field) explain(item, value string) *refusal {
	upper := strings.ToUpper(value)
	advice := fmt.Sprintf("write a number from %d to %d", f.lo, f.hi)
	if f.names != nil {
		advice += fmt.Sprintf(", or a name such as %s", f.names[0])
	}
	why := "not a value of this field"
	switch {
	case strings.Contains(value, "?"):
		advice, why = "write *", `"?" is not supported`
	case strings.Contains(value, "~"):
		advice, why = "use jitter to spread starts", `"~" is not supported: a signed schedule holds no random part`
	case strings.Contains(value, "#"):
		advice, why = `for the second Monday write "8-14" and "*" and let the job test the day`, `"#" is not supported`
	case upper == "H" || strings.HasPrefix(upper, "H("):
		advice, why = "use jitter to spread starts", `"H" is not supported`
	case strings.HasSuffix(upper, "L") && digits(strings.TrimSuffix(upper, "L")):
		advice, why = `run on days 28-31 and let the job test the day`, `"L" is not supported`
	case strings.HasSuffix(upper, "W") && digits(strings.Trim(upper, "LW")):
		advice, why = "name the days", `"W" is not supported`
	case strings.HasPrefix(value, "*"):
		why = `only "*" or "*/n" may begin with a star`
	case f.names != nil && f.fullName(value) != "":
		advice, why = "write "+f.fullName(value), "names have three letters"
	case strings.HasPrefix(value, "+") || strings.HasPrefix(item, "-") || strings.HasPrefix(value, "-"):
		why = "a number has no sign"
	case len(value) > 2 && strings.Trim(value, "0123456789") == "":
		why = "a number has at most two digits"
	}
	return refuse(advice, "%s %q: %s", f.name, item, why)
}

// digits reports whether text is empty or a number.
func digits(text string) bool {
	_, ok := number(text)
	return ok || text == ""
}

func (f *field) fullName(value string) string {
	for _, name := range f.names {
		if len(value) > 3 && strings.EqualFold(value[:3], name) {
			return name
		}
	}
	return ""
}
