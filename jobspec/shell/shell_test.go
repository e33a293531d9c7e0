package shell_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec/shell"
)

// told writes commands one a line: words, dynamic ones in < >, then what else is
// known of them.
func told(commands []shell.Command) string {
	var b strings.Builder
	for _, c := range commands {
		var parts []string
		for _, a := range c.Assigns {
			parts = append(parts, "set:"+a.Name+"="+word(a.Value))
		}
		for _, w := range c.Words {
			parts = append(parts, word(w))
		}
		for _, w := range c.Writes {
			parts = append(parts, ">"+word(w))
		}
		if c.From.Text != "" {
			parts = append(parts, "from:"+word(c.From))
		}
		if c.HasHere {
			parts = append(parts, fmt.Sprintf("here:%q", c.Here))
		}
		if c.Feeds {
			parts = append(parts, "feeds")
		}
		if c.Dir != "." || !c.DirKnown {
			parts = append(parts, fmt.Sprintf("in:%s,%v", c.Dir, c.DirKnown))
		}
		b.WriteString(strings.Join(parts, " ") + "\n")
	}
	return b.String()
}

func word(w shell.Word) string {
	if w.Dynamic {
		return "<" + w.Text + ">"
	}
	return w.Text
}

func TestCommandsOfATextAreFound(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a b", "a b\n"},
		{"a; b\nc && d || e | f & g", "a\nb\nc\nd\ne feeds\nf\ng\n"},
		{`r\m "r"'m' r""m`, "rm rm rm\n"},
		{"r\\\nm x", "rm x\n"},
		{`$'\x72m' $'\162m' $'a\tb'`, "rm rm a\tb\n"},
		{`"a\$b\"c"`, "a$b\"c\n"},
		{"$x a; \"$x\"; ${x}y", "<$x> a\n<\"$x\">\n<${x}y>\n"},
		{"/bin/?udo; {a,b}; ~/x; [ a ]", "</bin/?udo>\n<{a,b}>\n<~/x>\n[ a ]\n"},
		{"if a; then b; elif c; then d; else e; fi", "a\nb\nc\nd\ne\n"},
		{"for x in $(a); do b; done", "a\nset:x=<x in $(a)>\nb\n"},
		{"while a; do b; done; until c; do d; done", "a\nb\nc\nd\n"},
		{"case $(a) in b) c;; *) d;; esac", "a\nc\nd\n"},
		{"f() { a; }; function g { b; }", "a\nb\n"},
		{"(a; (b)); { c; }", "a\nb\nc\n"},
		{"echo $(a `b`) \"$(c \"$(d)\")\"", "echo <$(a `b`)> <\"$(c \"$(d)\")\">\na <`b`>\nb\nc <\"$(d)\">\nd\n"},
		{"a <(b) >(c)", "a <<(b)> <>(c)>\nb\nc\n"},
		{"[[ -n $(a) && b == c ]]; (( 1 + $(d) )); let x=$(e)", "a\nd\ne\n"},
		{"x=$(a) b; y=(c $(d))", "set:x=<$(a)> b\na\nset:y=<y=(c $(d))>\nd\n"},
		{"export A=b C; local \"$d\"", "set:A=b export A=b C\nlocal <\"$d\">\n"},
		{"read -r PATH; printf -v IFS x", "set:PATH=<> read -r PATH\nset:IFS=<> printf -v IFS x\n"},
		{": ${PATH:=/x} ${x@P}", ": <${PATH:=/x}> <${x@P}>\nset:PATH=/x\n<${x@P}>\n"},
		{"test -v 'a[$(id)]'", "test -v a[$(id)]\n<'a[$(id)]'>\n"},
		{"time a; ! b; coproc c", "a\nb\nc feeds\n"},
		{"a > f 2>> g <h >&2 2>&-", "a >f >g from:h\n"},
		{"a >| f &> g <> h", "a >f >g >h\n"},
		{"{ a; } > f", ">f\na\n"},
		{"> f", ">f\n"},
		{"cat <<'E'\nsudo id $(x)\nE", "cat here:\"sudo id $(x)\\n\"\n"},
		{"cat <<E\na $(b)\nE", "b\ncat here:\"a $(b)\\n\"\n"},
		{"cat <<< \"a b\"", "cat here:\"a b\"\n"},
		{"a |& b", "a feeds\nb\n"},
		{"cd x && a; (cd y; b); c", "cd x\na in:x,true\ncd y in:x,true\nb in:x/y,true\nc in:x,true\n"},
		{"cd /x; a; cd \"$d\"; b", "cd /x\na in:/x,true\ncd <\"$d\"> in:/x,true\nb in:/x,false\n"},
		{"# sudo id\n", ""},
		{"", ""},
	} {
		got, err := shell.Read(c.text, shell.Bash)
		if err != nil || told(got) != c.want {
			t.Errorf("%q is read as\n%s(%v) want\n%s", c.text, told(got), err, c.want)
		}
	}
}

func TestWhatCannotBeReadToItsEndIsAnError(t *testing.T) {
	for _, text := range []string{"if a", "a; 'b", "$(a", "a `b", "(", "{ a", "a;;", "case x in", "a\r\nb", "a\x00b", "a <<E\nb", "\"${x"} {
		if got, err := shell.Read(text, shell.Bash); !errors.Is(err, shell.ErrUnreadable) || got != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestThePlainDialectIsNotBash(t *testing.T) {
	got, err := shell.Read("[[ a && b ]]", shell.POSIX)
	if err != nil || told(got) != "[[ a\nb ]]\n" {
		t.Errorf("%s, %v", told(got), err)
	}
	for _, text := range []string{"a <(b)", "a &> b", "x=(1)", "function f { a; }"} {
		if _, err := shell.Read(text, shell.POSIX); err == nil {
			t.Errorf("%q is read as plain shell", text)
		}
	}
}

// A text that nests without end must neither fill the stack nor take long.
func TestHostileTextsEndSoon(t *testing.T) {
	for _, text := range []string{strings.Repeat("$(", 60000), strings.Repeat("(", 60000) + strings.Repeat(")", 60000), strings.Repeat("( # )\n", 20000),
		"echo $((" + strings.Repeat("- ", 50000) + "1))", strings.Repeat("a|", 50000) + "a", strings.Repeat("if ", 40000), strings.Repeat("\"$(", 20000) + strings.Repeat(")\"", 20000),
		strings.Repeat("f() { ", 15000) + strings.Repeat("}; ", 15000), strings.Repeat("`", 30001), strings.Repeat("while a; do cd x; ", 5000)} {
		began := time.Now()
		_, err := shell.Read(text, shell.Bash)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%.20q took %v (%v)", text, took, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"a b", "case x in a|b) c;; esac", "$(a `b`) <<E\nx\nE", "\"${x:-$(y)}\"", "((", ";;&", "&>f", "1>&2 x", "a[$(b)]=c", "${x@P}", "for ((;;)) do a; done", "select x in y; do z; done"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []shell.Dialect{shell.POSIX, shell.Bash, shell.Korn, shell.Zsh} {
			commands, err := shell.Read(text, d)
			if err != nil && commands != nil {
				t.Errorf("%q: half a list beside an error", text)
			}
		}
	})
}
