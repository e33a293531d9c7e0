package jobspec

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// textProblem is a text of the spec that cannot be signed as it is.
type textProblem struct {
	code   Code
	field  string
	detail string
}

// textProblems reads every text of a spec. Only the later words of argv, the
// body of a script and stdin may hold line ends and tabs.
func textProblems(s *Spec) []textProblem {
	var found []textProblem
	walkText(reflect.ValueOf(s).Elem(), "", func(field, text string) {
		allowed := ""
		switch {
		case strings.HasPrefix(field, "argv[") && field != "argv[0]":
			allowed = "\n\t"
		case field == "script.body" || field == "stdin":
			allowed = "\n\t\r"
		}
		if why := textFault(text, allowed); why != "" {
			found = append(found, textProblem{CodeSpecTextUnusual, field, why})
		}
	})
	return append(found, sizeProblems(s)...)
}

// textFault says what is wrong with a text, "" for nothing.
func textFault(text, allowed string) string {
	if !utf8.ValidString(text) {
		return "is not valid UTF-8"
	}
	for _, c := range text {
		if unusual(c) && !strings.ContainsRune(allowed, c) {
			return fmt.Sprintf("holds %U", c)
		}
	}
	if allowed == "" && strings.Trim(text, " ") != text {
		return "begins or ends with a space"
	}
	return ""
}

// walkText calls visit for every string below v, map keys included.
func walkText(v reflect.Value, field string, visit func(field, text string)) {
	switch v.Kind() {
	case reflect.String:
		visit(field, v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); name != "" {
				walkText(v.Field(i), strings.TrimPrefix(field+"."+name, "."), visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			walkText(v.Index(i), fmt.Sprintf("%s[%d]", field, i), visit)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			visit(field, k.String())
			walkText(v.MapIndex(k), field+"."+k.String(), visit)
		}
	}
}

// sizeProblems holds the spec against what execve(2) takes and an op can carry.
func sizeProblems(s *Spec) []textProblem {
	var found []textProblem
	tooLarge := func(field string, n, most int) {
		if n > most {
			found = append(found, textProblem{CodeSpecTooLarge, field, fmt.Sprintf("%d bytes, at most %d", n, most)})
		}
	}
	total := 0
	for i, a := range s.Argv {
		tooLarge(fmt.Sprintf("argv[%d]", i), len(a), MaxArgBytes)
		total += len(a) + 1
	}
	for k, v := range s.Env {
		tooLarge("env."+k, len(k)+1+len(v), MaxArgBytes)
		total += len(k) + len(v) + 2
	}
	tooLarge("argv and env", total, MaxArgvBytes)
	tooLarge("script.body", len(s.Script.Body), MaxScriptBytes)
	tooLarge("stdin", len(s.Stdin), MaxScriptBytes)
	return found
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
