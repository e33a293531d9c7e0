package examine

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
)

// readCredentials reads the value of each credential that the spec names, once.
// Only a trigger keeps them; everybody else looks whether they can be used. At
// add the caller may see less than the service, which then said what it has.
func (x *Examiner) readCredentials(e *Examination, phase jobspec.Phase, has []string) {
	size := 0
	for _, c := range e.Op.Spec.Credentials {
		if slices.ContainsFunc(e.Input.Credentials, func(f jobspec.CredentialFact) bool { return f.Name == c.Name }) {
			continue
		}
		fact := jobspec.CredentialFact{Name: c.Name}
		value, err := x.Site.Credential(c.Name)
		switch {
		case err == nil && size+len(value) > jobspec.MaxCredentialsSize:
			fact.Problem, fact.Detail = jobspec.CodeCredentialUnusable, "it and those before it are too long together"
		case err == nil:
			size += len(value)
			fact.Problem, fact.Detail = unfit(e.Op.Spec.Credentials, c.Name, value)
		case phase == jobspec.PhaseAdd && unseen(err) && slices.Contains(has, c.Name):
		case phase == jobspec.PhaseAdd && unseen(err):
			fact.Problem, fact.Detail = jobspec.CodeCredentialMissing, "neither CONF/credentials nor the service has a value for it"
		default:
			fact.Problem, fact.Detail = jobspec.CodeOr(err, jobspec.CodeCredentialMissing), err.Error()
		}
		e.Input.Credentials = append(e.Input.Credentials, fact)
		if s := runner.NewSecret(c.Name, value); phase == jobspec.PhaseTrigger && fact.Problem == "" {
			e.Secrets = append(e.Secrets, s)
		} else {
			s.Clear()
		}
	}
}

// sameCredentials reports whether every value that e holds is still the one that
// a run of this moment would get.
func (x *Examiner) sameCredentials(e *Examination) bool {
	for _, s := range e.Secrets {
		value, err := x.Site.Credential(s.Name())
		same := err == nil && s.Is(value)
		clear(value)
		if !same {
			return false
		}
	}
	return true
}

// unseen reports whether a value may be there all the same: in a folder that the
// caller cannot look into, or with the service alone.
func unseen(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// unfit looks at each form in which a credential is shown.
func unfit(all []jobspec.Credential, name string, value []byte) (jobspec.Code, string) {
	for _, c := range all {
		if why := runner.Unfit(c, value); c.Name == name && why != "" {
			return jobspec.CodeCredentialUnusable, why
		}
	}
	return "", ""
}
