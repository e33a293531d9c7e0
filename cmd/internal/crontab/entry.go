package crontab

import (
	"fmt"
	"strings"
)

const fieldCount = 5

// entry reads a line that is no setting.
func (r *reader) entry(number int, text string) {
	e := Entry{Line: number, Text: text, Env: r.env}
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		text = rest
		e.Notes = append(e.Notes, `the "-" in front, which keeps a line out of the system's log, was left out`)
	}
	schedule, rest, ok := cutSchedule(text)
	switch {
	case !ok:
		r.refuse(number, CodeNotALine, "write minute, hour, day of month, month, day of week and a command", "it is neither a setting nor five fields and a command")
		return
	case strings.EqualFold(schedule, "@reboot"):
		r.refuse(number, CodeAtReboot, "give the job a time, such as @hourly, or leave it to a unit of the system", "a job has a time: there is no start at boot")
		return
	}
	e.Schedule = schedule
	if first, _ := cutWord(rest); schedule[0] != '@' && isField(first) {
		r.refuse(number, CodeSixFields, fmt.Sprintf("leave out the field of seconds or years; did you mean %q?", strings.Join(strings.Fields(schedule + " " + first)[1:], " ")),
			"six fields stand before the command, want five")
		return
	}
	if e.User, rest, ok = r.user(number, rest); !ok {
		return
	}
	if e.Command, e.Stdin = cutInput(rest); strings.Trim(e.Command, blanks) == "" {
		r.refuse(number, CodeNoCommand, "write the command behind the time", "there is no command")
		return
	}
	if strings.Contains(e.Command, `\\`) {
		e.Notes = append(e.Notes, "two backslashes stay two, as with cronie; some other crond makes them one")
	}
	r.table.Entries = append(r.table.Entries, e)
}

// cutSchedule cuts off five words or an @name.
func cutSchedule(text string) (schedule, rest string, ok bool) {
	if strings.HasPrefix(text, "@") {
		schedule, rest = cutWord(text)
		return schedule, rest, true
	}
	var fields []string
	rest = text
	for range fieldCount {
		var field string
		if field, rest = cutWord(rest); field == "" {
			return "", "", false
		}
		fields = append(fields, field)
	}
	return strings.Join(fields, " "), rest, true
}

// cutWord cuts off the first word and the blanks behind it.
func cutWord(text string) (word, rest string) {
	text = strings.TrimLeft(text, blanks)
	end := strings.IndexAny(text, blanks)
	if end < 0 {
		return text, ""
	}
	return text[:end], strings.TrimLeft(text[end:], blanks)
}

// isField reports whether a word in the place of the command is a sixth field.
func isField(word string) bool {
	return word != "" && strings.Trim(word, "0123456789*/,-") == "" && word[0] != '/' && word[0] != '-'
}

// user cuts off the account of the system form. A word that is none, and the
// account of root where none belongs, mean that the form is the other one.
func (r *reader) user(number int, text string) (user, rest string, ok bool) {
	user, rest = cutWord(text)
	switch {
	case !r.system && user == "root" && rest != "":
		r.refuse(number, CodeUserField, "read a crontab with a field for the account with --system", `the command begins with "root", as in the form of /etc/crontab`)
		return "", "", false
	case !r.system:
		return "", text, true
	case user == "":
		r.refuse(number, CodeNoCommand, "write the account and the command behind the time", "there is no command")
		return "", "", false
	case !isAccount(user):
		r.refuse(number, CodeUserField, "read a user's own crontab without --system", "no account stands before the command")
		return "", "", false
	}
	return user, rest, true
}

func isAccount(word string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return len(word) <= 32 && strings.IndexByte(letters, word[0]) >= 0 && strings.Trim(word[1:], letters+"0123456789.-") == ""
}

// cutInput cuts a command at its first "%" that has no backslash before it; what
// follows is standard input. Quotes do not protect it.
func cutInput(text string) (command, input string) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '%':
			return b.String(), inputText(text[i+1:])
		case text[i] == '\\' && i+1 < len(text):
			if i++; text[i] != '%' {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(text[i])
	}
	return b.String(), ""
}

// inputText makes lines of what stands behind the first "%". The last one is
// ended, as crond ends it.
func inputText(text string) string {
	text = strings.NewReplacer(`\%`, "%", "%", "\n").Replace(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
