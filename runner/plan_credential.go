package runner

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner/mask"
	"github.com/sbxcron/sbxcron/runner/stub"
)

// SecretVar is a variable whose value is a secret.
type SecretVar struct {
	Name   string
	Secret *Secret
}

// drawCredentials draws each credential in the form that was signed. Values stand
// in no text of the plan: neither in its dump nor in its digest, so that a value
// may change and the plan is the same.
func (o Order) drawCredentials(b *Blueprint) error {
	size := 0
	for _, s := range o.Secrets {
		if size += len(s.value); size > jobspec.MaxCredentialsSize {
			return refuse(jobspec.CodeCredentialUnusable, s.name, "the values of the job's credentials are longer than %d bytes together", jobspec.MaxCredentialsSize)
		}
	}
	for _, c := range o.Spec.Credentials {
		i := slices.IndexFunc(o.Secrets, func(s *Secret) bool { return s.name == c.Name })
		if i < 0 {
			return refuse(jobspec.CodeCredentialMissing, c.Name, "no value of credential %q was read", c.Name)
		}
		if err := o.drawCredential(b, c, o.Secrets[i]); err != nil {
			return err
		}
		if !slices.Contains(b.Secrets, o.Secrets[i]) {
			b.Secrets = append(b.Secrets, o.Secrets[i])
		}
	}
	return o.drawCredentialDir(b)
}

func (o Order) drawCredential(b *Blueprint, c jobspec.Credential, s *Secret) error {
	if why := Unfit(c, s.value); why != "" {
		return refuse(jobspec.CodeCredentialUnusable, c.Name, "credential %q: %s", c.Name, why)
	}
	form, place := c.Form()
	switch {
	case form == jobspec.CredentialEnv:
		if slices.ContainsFunc(b.Env, func(v string) bool { return strings.HasPrefix(v, place+"=") && !isPromptVar(place) }) {
			return refuse(jobspec.CodeEnvForbidden, place, "variable %q cannot be set", place)
		}
		b.Env = slices.DeleteFunc(b.Env, func(v string) bool { return strings.HasPrefix(v, place+"=") })
		b.SecretEnv = append(b.SecretEnv, SecretVar{place, s})
	case form == jobspec.CredentialFile, form == jobspec.CredentialPath && clean(place):
		b.mount(Mount{Kind: Credential, Dst: place, Secret: s, Perm: 0o400})
		b.grant(place, ReadFile)
	default:
		return refuse(jobspec.CodeSpecMalformed, "credential", "credential %q as %q cannot be shown", c.Name, c.As)
	}
	return nil
}

// isPromptVar reports whether a variable only keeps programs from asking: a
// signed value wins there.
func isPromptVar(name string) bool {
	return slices.ContainsFunc(PromptEnv(), func(v EnvVar) bool { return v.Name == name })
}

// Unfit says why a value cannot be shown in a form, "" if it can. It says
// nothing of what is in it.
func Unfit(c jobspec.Credential, value []byte) string {
	form, _ := c.Form()
	switch {
	case len(value) > jobspec.MaxCredentialBytes:
		return "its value is too long"
	case len(bytes.TrimSpace(value)) < jobspec.MinCredentialBytes:
		return "its value is shorter than 6 bytes, so it could not be masked in what the job prints"
	case form == jobspec.CredentialEnv && bytes.IndexByte(value, 0) >= 0:
		return "its value holds a zero byte, which no variable can"
	}
	return ""
}

// drawCredentialDir tells the job where its files are, by the name that systemd
// uses.
func (o Order) drawCredentialDir(b *Blueprint) error {
	if _, set := o.Spec.Env[jobspec.CredentialDirVar]; set {
		return refuse(jobspec.CodeEnvForbidden, jobspec.CredentialDirVar, "variable %q cannot be set", jobspec.CredentialDirVar)
	}
	isFile := func(m Mount) bool {
		return m.Kind == Credential && strings.HasPrefix(m.Dst, jobspec.CredentialPlace+"/")
	}
	if slices.ContainsFunc(b.Mounts, isFile) {
		b.Env = append(b.Env, jobspec.CredentialDirVar+"="+jobspec.CredentialPlace)
		slices.Sort(b.Env)
	}
	return nil
}

// CredentialNames are the credentials that the job sees, for records.
func (b *Blueprint) CredentialNames() []string {
	var all []string
	for _, s := range b.Secrets {
		all = append(all, s.Name())
	}
	slices.Sort(all)
	return all
}

// Mask finds the values of the job's credentials, nil for none. The caller
// clears it.
func (b *Blueprint) Mask() *mask.Set {
	var all []mask.Value
	for _, s := range b.Secrets {
		all = append(all, mask.Value{Name: s.Name(), Bytes: s.value})
	}
	return mask.New(all)
}

// MaskEnd masks what a record takes from a job: what its attempts were about, and
// details of how it ended.
func MaskEnd(s *mask.Set, end *record.End) {
	for i := range end.Denials {
		end.Denials[i].Target = s.Text(end.Denials[i].Target)
	}
	for i := range end.Connections {
		end.Connections[i].Host = s.Text(end.Connections[i].Host)
	}
	for i := range end.Reasons {
		end.Reasons[i].Target, end.Reasons[i].Detail = s.Text(end.Reasons[i].Target), s.Text(end.Reasons[i].Detail)
	}
}

// environment puts the variables into the table, those with secrets hidden.
func (s *steps) environment() stub.Arg {
	words := make([]stub.Arg, 0, len(s.b.Env)+len(s.b.SecretEnv)+1)
	for _, v := range s.b.Env {
		words = append(words, s.t.String(v))
	}
	for _, v := range s.b.SecretEnv {
		text := append([]byte(v.Name+"="), variable(v.Secret.value)...)
		words = append(words, s.t.Hidden(v.Name+" from "+v.Secret.String(), text))
		clear(text)
	}
	return s.t.Words("env", append(words, stub.Int(0))...)
}

// variable is a value as a variable has it: without the line end that ends a
// file, as a shell reads one.
func variable(value []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(value, []byte("\n")), []byte("\r"))
}
