package jobspec

import "fmt"

// Tier says how much of the file system a job may change. Tiers are totally
// ordered; the zero value is no tier and permits nothing.
type Tier uint8

// The tiers, from least to most.
const (
	NoTier    Tier = iota
	Scratch        // a private, empty work directory
	ReadOnly       // the declared cwd, read-only
	Workspace      // the declared cwd, writable
)

var tierWords = [...]string{NoTier: "", Scratch: "scratch", ReadOnly: "read-only", Workspace: "workspace"}

// String is the word that is signed.
func (t Tier) String() string {
	if int(t) >= len(tierWords) {
		return fmt.Sprintf("tier(%d)", uint8(t))
	}
	return tierWords[t]
}

// MarshalText implements encoding.TextMarshaler; an unknown tier is an error.
func (t Tier) MarshalText() ([]byte, error) {
	if int(t) >= len(tierWords) {
		return nil, fmt.Errorf("tier %d is unknown", uint8(t))
	}
	return []byte(tierWords[t]), nil
}

// UnmarshalText accepts the three words and nothing else. Words of other tools
// get a *WordError with a hint.
func (t *Tier) UnmarshalText(text []byte) error {
	for i, w := range tierWords {
		if w != "" && w == string(text) {
			*t = Tier(i)
			return nil
		}
	}
	return tierWordError(string(text))
}

// Net says what network a job sees. The zero value permits nothing.
type Net uint8

// The network modes, from least to most.
const (
	NoNet    Net = iota
	NetNone      // an empty network namespace
	NetProxy     // named hosts through the egress proxy
)

var netWords = [...]string{NoNet: "", NetNone: "none", NetProxy: "proxy"}

// String is the word that is signed.
func (n Net) String() string {
	if int(n) >= len(netWords) {
		return fmt.Sprintf("net(%d)", uint8(n))
	}
	return netWords[n]
}

// MarshalText implements encoding.TextMarshaler; an unknown mode is an error.
func (n Net) MarshalText() ([]byte, error) {
	if int(n) >= len(netWords) {
		return nil, fmt.Errorf("net mode %d is unknown", uint8(n))
	}
	return []byte(netWords[n]), nil
}

// UnmarshalText accepts "none" and "proxy" and nothing else.
func (n *Net) UnmarshalText(text []byte) error {
	for i, w := range netWords {
		if w != "" && w == string(text) {
			*n = Net(i)
			return nil
		}
	}
	return &WordError{What: "net mode", Word: string(text), Reason: CodeNetOverCeiling,
		Remedy: `use "none" or "proxy"; there is no mode with direct network access`}
}

// WordError refuses a word that sbxcron does not have.
type WordError struct {
	What, Word string
	Reason     Code
	Remedy     string
}

func (e *WordError) Error() string { return fmt.Sprintf("%s %q is not one of ours", e.What, e.Word) }

// Code is the stable reason.
func (e *WordError) Code() string { return string(e.Reason) }

// Hint says which word to use.
func (e *WordError) Hint() string { return e.Remedy }

// tierWordError knows the words of other tools, so that nobody mistakes the
// refusal for a typing error. None is an alias: what is signed is what was typed.
func tierWordError(word string) error {
	e := &WordError{What: "tier", Word: word, Reason: CodeTierForbidden}
	switch word {
	case "full", "danger-full-access", "yolo", "bypass", "bypassPermissions", "off", "none", "host", "gateway", "node", "elevated", "local":
		e.Remedy = "there is no tier without a sandbox; use scratch, read-only or workspace"
	case "guarded", "ask", "on-request", "untrusted", "default", "manual":
		e.Remedy = "nobody is there to ask when the job runs; questions are answered at add; use scratch, read-only or workspace"
	case "auto", "smart", "dontAsk", "acceptEdits", "auto_edit", "full-auto":
		e.Remedy = "nothing is approved automatically; use read-only or workspace"
	case "workspace-write", "rw", "write":
		e.Reason, e.Remedy = CodeTierUnknown, "use workspace"
	case "ro", "plan", "readonly", "read_only":
		e.Reason, e.Remedy = CodeTierUnknown, "use read-only"
	default:
		e.Reason, e.Remedy = CodeTierUnknown, "use scratch, read-only or workspace"
	}
	return e
}
