package canon

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type word string

func (w word) MarshalText() ([]byte, error) {
	if w == "bad" {
		return nil, errors.New("bad word")
	}
	return []byte("<" + string(w) + ">"), nil
}

func (w *word) UnmarshalText(b []byte) error {
	s := string(b)
	if len(s) < 2 || s[0] != '<' || s[len(s)-1] != '>' {
		return errors.New("no word")
	}
	*w = word(s[1 : len(s)-1])
	return nil
}

type inner struct {
	A string `json:"a"`
	N int64  `json:"n"`
}

type sample struct {
	Text  string            `json:"text"`
	N     int64             `json:"n"`
	I     int               `json:"i"`
	On    bool              `json:"on"`
	Word  word              `json:"word"`
	In    inner             `json:"in"`
	Ptr   *inner            `json:"ptr"`
	List  []string          `json:"list"`
	Items []inner           `json:"items"`
	Map   map[string]string `json:"map"`
	Skip  string            `json:"-"`
	none  string
}

func TestTheFormOfEachKind(t *testing.T) {
	for _, c := range []struct {
		name string
		in   sample
		want string
	}{
		{"nothing", sample{}, `{}`},
		{"unexported and skipped fields", sample{Skip: "x", none: "y"}, `{}`},
		{"empty list, map and struct are absent", sample{List: []string{}, Map: map[string]string{}, Items: []inner{}}, `{}`},
		{"text", sample{Text: "a/b <&> \u00e9 \u2028 \x7f"}, "{\"text\":\"a/b <&> \u00e9 \u2028 \x7f\"}"},
		{"escapes", sample{Text: "\"\\\n\t\x00\x1f"}, `{"text":"\"\\\u000a\u0009\u0000\u001f"}`},
		{"numbers", sample{N: -MaxInteger, I: 7}, `{"n":-9007199254740991,"i":7}`},
		{"true", sample{On: true}, `{"on":true}`},
		{"words", sample{Word: "x"}, `{"word":"<x>"}`},
		{"structs", sample{In: inner{N: 1}, Ptr: &inner{A: "p"}}, `{"in":{"n":1},"ptr":{"a":"p"}}`},
		{"a pointer to nothing is there", sample{Ptr: &inner{}}, `{"ptr":{}}`},
		{"lists keep empty text", sample{List: []string{"", "a"}, Items: []inner{{}, {A: "x"}}}, `{"list":["","a"],"items":[{},{"a":"x"}]}`},
		{"maps are sorted", sample{Map: map[string]string{"b": "", "B": "2", "a": "1"}}, `{"map":{"B":"2","a":"1","b":""}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Marshal(&c.in)
			if err != nil || string(got) != c.want {
				t.Fatalf("%s, %v; want %s", got, err, c.want)
			}
			var back sample
			if err := Unmarshal(got, &back, 1000); err != nil {
				t.Fatalf("its own form is refused: %v", err)
			}
			if !json.Valid(got) {
				t.Error("not JSON")
			}
		})
	}
}

func TestWhatTheFormCannotHold(t *testing.T) {
	type float struct {
		F float64 `json:"f"`
	}
	type dict struct {
		M map[string]int `json:"m"`
	}
	for name, v := range map[string]any{
		"text that is not UTF-8": sample{Text: "\xff"}, "a surrogate": sample{Text: "\xed\xa0\x80"}, "a large integer": sample{N: MaxInteger + 1},
		"a small integer": sample{N: math.MinInt64}, "a key beyond ASCII": sample{Map: map[string]string{"\u00e9": "x"}},
		"a bad word": sample{Word: "bad"}, "a float": float{1}, "a map to numbers": dict{map[string]int{"a": 1}}, "no struct": 7,
		"bad text in a list": sample{List: []string{"\xff"}}, "bad text in a map": sample{Map: map[string]string{"a": "\xff"}},
	} {
		if b, err := Marshal(v); err == nil {
			t.Errorf("%s: %s", name, b)
		}
	}
}

func TestOtherSpellingsAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": ``, "blank before": ` {}`, "blank after": `{} `, "line end after": "{}\n", "blank inside": `{ "n":1}`, "blank after colon": `{"n": 1}`,
		"byte order mark": "\xef\xbb\xbf{}", "two objects": `{}{}`, "no object": `[]`, "text alone": `"a"`, "unclosed": `{"n":1`, "trailing comma": `{"n":1,}`,
		"unknown member": `{"x":1}`, "member in another case": `{"N":1}`, "member by escape": `{"\u006e":1}`, "skipped member": `{"-":"x"}`, "unexported member": `{"none":"x"}`,
		"duplicate": `{"n":1,"n":1}`, "duplicate with another value": `{"n":2,"n":1}`, "duplicate below": `{"in":{"n":1,"n":1}}`,
		"duplicate list": `{"list":["a"],"list":["b"]}`, "duplicate object": `{"in":{"a":"x"},"in":{"n":1}}`, "duplicate pointer": `{"ptr":{"a":"x"},"ptr":{"n":1}}`,
		"duplicate key of a map": `{"map":{"a":"1","a":"1"}}`, "order": `{"n":1,"text":"a"}`, "order in a map": `{"map":{"b":"1","a":"1"}}`,
		"zero": `{"n":0}`, "minus zero": `{"n":-0}`, "empty text": `{"text":""}`, "false": `{"on":false}`, "null": `{"n":null}`, "null object": `{"ptr":null}`,
		"empty list": `{"list":[]}`, "empty map": `{"map":{}}`, "empty object": `{"in":{}}`,
		"float": `{"n":1.5}`, "float that is whole": `{"n":1.0}`, "exponent": `{"n":1e3}`, "leading zero": `{"n":01}`, "plus": `{"n":+1}`, "beyond 2^53": `{"n":9007199254740992}`,
		"beyond 64 bits": `{"n":18446744073709551617}`, "number as text": `{"n":"1"}`, "text as number": `{"text":1}`, "hex": `{"n":0x1}`, "two signs": `{"n":--1}`,
		"escaped slash": `{"text":"\/"}`, "short escape": `{"text":"\n"}`, "escape in capitals": `{"text":"\u001F"}`, "escape of a plain letter": `{"text":"\u0061"}`,
		"escape beyond ASCII": `{"text":"\u00e9"}`, "surrogate pair": `{"text":"\ud83d\ude00"}`, "lone surrogate": `{"text":"\ud800"}`, "cut escape": `{"text":"\u00`,
		"raw control": "{\"text\":\"a\nb\"}", "not UTF-8": "{\"text\":\"\xff\"}", "overlong": "{\"text\":\"\xc0\xaf\"}", "raw surrogate": "{\"text\":\"\xed\xa0\x80\"}",
		"key beyond ASCII": "{\"map\":{\"\u00e9\":\"x\"}}", "map to number": `{"map":{"a":1}}`, "word": `{"word":"x"}`, "deep": strings.Repeat(`{"in":`, 40) + `{}`,
		"comment": `{/**/}`, "single quotes": `{'n':1}`,
	} {
		var v sample
		if err := Unmarshal([]byte(text), &v, 1000); err == nil {
			t.Errorf("%s: %s is read as %+v", name, text, v)
		}
	}
}

func TestTheSizeIsLookedAtFirst(t *testing.T) {
	var v sample
	if err := Unmarshal([]byte(`{"text":"aaaa"}`), &v, 10); err == nil || v.Text != "" {
		t.Errorf("read %+v, error %v", v, err)
	}
	if err := Unmarshal([]byte(`{}`), v, 10); err == nil {
		t.Error("a struct that cannot be written to is accepted")
	}
}

func samples() *rapid.Generator[sample] {
	return rapid.Custom(func(t *rapid.T) sample {
		in := rapid.Custom(func(t *rapid.T) inner {
			return inner{A: rapid.String().Draw(t, "a"), N: rapid.Int64Range(-MaxInteger, MaxInteger).Draw(t, "n")}
		})
		s := sample{Text: rapid.String().Draw(t, "text"), N: rapid.Int64Range(-MaxInteger, MaxInteger).Draw(t, "n"), On: rapid.Bool().Draw(t, "on"),
			I: rapid.IntRange(-9, 9).Draw(t, "i"), In: in.Draw(t, "in"), List: rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "list"),
			Items: rapid.SliceOfN(in, 0, 3).Draw(t, "items"),
			Map:   rapid.MapOfN(rapid.StringMatching(`[ -~]{0,4}`), rapid.String(), 0, 3).Draw(t, "map")}
		if rapid.Bool().Draw(t, "ptr") {
			p := in.Draw(t, "ptr")
			s.Ptr = &p
		}
		return s
	})
}

func TestWhatIsWrittenIsReadBackAndIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := samples().Draw(t, "sample")
		b, err := Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back sample
		if err := Unmarshal(b, &back, 1<<20); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		again, err := Marshal(back)
		if err != nil || string(again) != string(b) {
			t.Fatalf("%s became %s, %v", b, again, err)
		}
		var std sample
		if err := json.Unmarshal(b, &std); err != nil {
			t.Fatalf("another reader refuses %s: %v", b, err)
		}
		if len(std.List) == 0 {
			std.List, back.List = nil, nil
		}
		if !reflect.DeepEqual(std, back) {
			t.Fatalf("another reader reads %s as %+v, not %+v", b, std, back)
		}
	})
}

// Every bit of the bytes counts: a flipped one is refused or means another value.
func TestAFlippedBitIsNeverTheSameValue(t *testing.T) {
	b, err := Marshal(sample{Text: "a\nb", N: 12, On: true, Word: "w", Ptr: &inner{A: "x"}, List: []string{"p", ""}, Map: map[string]string{"k": "v"}})
	if err != nil {
		t.Fatal(err)
	}
	var want sample
	if err := Unmarshal(b, &want, 1000); err != nil {
		t.Fatal(err)
	}
	for i := range len(b) * 8 {
		flipped := append([]byte(nil), b...)
		flipped[i/8] ^= 1 << (i % 8)
		var got sample
		if err := Unmarshal(flipped, &got, 1000); err == nil && reflect.DeepEqual(got, want) {
			t.Errorf("%q is read as the same value", flipped)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"text":"a\u000a","n":-1,"ptr":{"a":"x"},"list":["",""],"map":{"a":"b"}}`))
	f.Add([]byte(`{"word":"<x>"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v sample
		if err := Unmarshal(data, &v, 4096); err != nil {
			return
		}
		again, err := Marshal(v)
		if err != nil || string(again) != string(data) {
			t.Errorf("%q was read and is written as %q, %v", data, again, err)
		}
	})
}
