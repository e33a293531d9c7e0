package jobspec

import (
	"fmt"
	"slices"
	"strings"
)

// CredentialPlace is where files of credentials lie inside; a job finds it as
// $CREDENTIALS_DIRECTORY, as services of systemd do.
const CredentialPlace = "/.sbxcron/credentials"

// CredentialDirVar is the variable that names CredentialPlace.
const CredentialDirVar = "CREDENTIALS_DIRECTORY"

// Bounds of credentials.
const (
	MinCredentialBytes = 6         // a shorter value stands in too much that is no secret to be masked
	MaxCredentialBytes = 64 << 10  //
	MaxCredentials     = 16        // of one job
	MaxCredentialsSize = 256 << 10 // of one job together: what is looked for in its output takes memory
)

// CredentialForm is how a job sees a credential. The zero value is no form.
type CredentialForm uint8

// The forms.
const (
	NoCredentialForm CredentialForm = iota
	CredentialFile                  // a file in CredentialPlace
	CredentialPath                  // a file at a place in the private HOME
	CredentialEnv                   // a variable
)

// Form reads As. Place is the path inside, or the name of the variable.
func (c Credential) Form() (form CredentialForm, place string) {
	if c.As == "file" {
		return CredentialFile, CredentialPlace + "/" + c.Name
	}
	if name, ok := strings.CutPrefix(c.As, "env:"); ok && isEnvName(name) {
		return CredentialEnv, name
	}
	below, ok := strings.CutPrefix(c.As, "path:~/")
	if at := JobHome + "/" + below; ok && below != "" && isCleanPath(at) && !strings.ContainsFunc(at, unusual) {
		return CredentialPath, at
	}
	return NoCredentialForm, ""
}

// words say how a job sees a credential.
func (c Credential) words() string {
	switch form, place := c.Form(); form {
	case CredentialFile:
		return "the file $" + CredentialDirVar + "/" + c.Name
	case CredentialPath:
		return "the file " + Quote("~"+strings.TrimPrefix(place, JobHome))
	case CredentialEnv:
		return "the variable " + place
	}
	return Quote(c.As)
}

// CredentialFact is what was seen of a credential's value, which is never itself
// part of a decision.
type CredentialFact struct {
	Name    string
	Problem Code // why it cannot be used, "" if it can
	Detail  string
}

// ruleCredentialEnv asks before a credential becomes a variable.
var ruleCredentialEnv = floorRule{"floor.credential_variable", effectAsk, CodeEnvNotAllowed,
	"a credential stands in the environment, which every program that the job starts inherits and every process of its account can read"}

// credentialAsks collects a question for each variable.
func (j *judge) credentialAsks() {
	for _, c := range j.spec.Credentials {
		form, name := c.Form()
		if form != CredentialEnv {
			continue
		}
		text := fmt.Sprintf("%s: %s as %s", ruleCredentialEnv.text, c.Name, name)
		if envEffect(name, "") == effectAsk {
			text += "; " + ruleEnvAsk.text
		}
		j.ask(finding{effect: effectAsk, code: ruleCredentialEnv.code, layer: LayerFloor, rule: ruleCredentialEnv.id, text: text, words: j.commandWords()})
	}
}

// credentialsForm: each appears in a way that there is, at a place of its own.
func (j *judge) credentialsForm() {
	all := j.spec.Credentials
	if len(all) > MaxCredentials {
		j.no(CodeSpecMalformed, "credential", "%d credentials, at most %d", len(all), MaxCredentials)
	}
	for i, c := range all {
		form, place := c.Form()
		for _, other := range all[:i] {
			if kind, taken := other.Form(); kind == form && taken == place && form != NoCredentialForm {
				j.no(CodeSpecMalformed, "credential", "%s is given twice", c.words())
			}
		}
		switch form {
		case NoCredentialForm:
			j.finding(Check{Code: CodeSpecMalformed, Target: "credential", Detail: Quote(c.As) + " is no way to show a credential",
				Remedy: `write as = "file", as = "path:~/NAME" or as = "env:NAME"`})
		case CredentialEnv:
			j.credentialVariable(place)
		case CredentialPath:
			j.credentialPath(i, place)
		}
	}
}

func (j *judge) credentialVariable(name string) {
	if envEffect(name, "") == effectDeny {
		j.finding(Check{Code: CodeEnvForbidden, Layer: LayerFloor, Rule: ruleEnvDeny.id, Target: Quote(name), Detail: ruleEnvDeny.text})
	}
	if _, set := j.spec.Env[name]; set {
		j.no(CodeSpecMalformed, "credential", "the variable %s is set in env, too", name)
	}
}

// startFiles are read by shells and by git when they start: what stands there
// runs, and no signature covers a credential.
func startFiles() []string {
	return []string{".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
		".inputrc", ".envrc", ".direnv", ".gitconfig", ".config/git/config", ".config/git/attributes", ".config/fish", ".config/environment.d", ".config/systemd", ".config/autostart",
		".local/bin", "bin", ".ssh/config", ".ssh/rc", ".ssh/environment", ".vimrc", ".vim", ".exrc", ".perlrc", ".pythonrc"}
}

// credentialPath: nothing that is executed, and nothing that is there already.
func (j *judge) credentialPath(i int, at string) {
	no := func(detail string) {
		j.finding(Check{Code: CodeBindSensitive, Layer: LayerFloor, Target: j.spec.Credentials[i].As, Detail: detail, Remedy: "use a place of its own below ~/"})
	}
	for _, name := range startFiles() {
		if overlap(at, JobHome+"/"+name) {
			no("programs run what stands in " + Quote("~/"+name) + ", and no signature covers a credential")
			return
		}
	}
	taken := j.taken(len(j.spec.Bind))
	for _, other := range j.spec.Credentials[:i] {
		if form, place := other.Form(); form == CredentialPath && place != at {
			taken = append(taken, place)
		}
	}
	for _, t := range taken {
		if overlap(at, t) {
			no("the job sees " + Quote(t) + " there")
			return
		}
	}
}

// credentialValues: for each there is a value that can be used. A fact that
// nobody gathered is none.
func (j *judge) credentialValues() {
	for _, c := range j.spec.Credentials {
		i := slices.IndexFunc(j.in.Credentials, func(f CredentialFact) bool { return f.Name == c.Name })
		if i < 0 {
			j.no(CodeCredentialMissing, c.Name, "nobody looked for its value")
		} else if f := j.in.Credentials[i]; f.Problem != "" {
			j.no(f.Problem, c.Name, "%s", f.Detail)
		}
	}
}
