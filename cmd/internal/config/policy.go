package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// The names below CONF of what a policy is made of.
const (
	PolicyName = "policy.toml"
	FurtherDir = "policy.d"
	OwnerDir   = "owner.d"
)

// PolicyFile is one file of a policy.
type PolicyFile struct {
	Name   string            // below CONF
	Owner  jobspec.Principal // whose own file it is, "" for a managed one
	Text   []byte
	Policy *jobspec.Policy
}

// PolicySet is a policy and the files that it is made of: policy.toml, then
// those of policy.d and of owner.d by name.
type PolicySet struct {
	Policy *jobspec.Policy
	Files  []PolicyFile
}

// folder reads the files of one CONF, trusted or not.
type folder struct {
	path string
	read func(path string, owners []int) ([]byte, error)
	list func(path string) ([]string, error)
	uid  int // of the service
}

// folder is CONF, of which each file must belong to the service, or to the
// accounts of the principal whose own file it is.
func (s Site) folder() folder {
	return folder{path: s.Conf, uid: s.UID, list: s.list, read: func(path string, owners []int) ([]byte, error) {
		return readOwned(path, append([]int{s.UID}, owners...))
	}}
}

// Policy reads the policy as it is now. One older than serial, the highest seen,
// is refused. With any fault in a managed file there is no policy; a fault in a
// principal's own file stands in Owners and refuses that principal's jobs.
func (s Site) Policy(serial int64) (*jobspec.Policy, error) {
	set, err := s.PolicySet(serial)
	if err != nil {
		return nil, err
	}
	return set.Policy, nil
}

// PolicySet is Policy with the files that it was read from.
func (s Site) PolicySet(serial int64) (*PolicySet, error) {
	set, err := s.folder().load()
	if err != nil {
		return nil, err
	}
	if set.Policy.Serial < serial {
		return nil, &Error{Reason: jobspec.CodePolicyRollback, Path: s.Dirs.Policy(),
			Err: fmt.Errorf("serial %d is older than %d, which was seen here", set.Policy.Serial, serial)}
	}
	return set, nil
}

// readOwned reads a file that belongs to one of the uids.
func readOwned(path string, uids []int) (data []byte, err error) {
	for _, uid := range uids {
		if data, err = safefile.Read(path, safefile.Options{MaxBytes: policyLimit(path), UID: uid}); err == nil || errors.Is(err, fs.ErrNotExist) {
			return data, err
		}
	}
	return nil, err
}

// list names what lies in a folder that only we can write; none where there is
// no such folder.
func (s Site) list(path string) ([]string, error) {
	// Most installations have no such folder, and reading policy.toml has just
	// checked the one that it would lie in: no second walk for nothing.
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := safefile.CheckDir(path, s.UID); err != nil {
		return nil, err
	}
	return listPlain(path)
}

// load reads and joins all files.
func (f folder) load() (*PolicySet, error) {
	base, err := f.file(PolicyName, nil, func(_ string, b []byte) (*jobspec.Policy, error) { return jobtoml.ReadPolicy(b) })
	if err != nil {
		return nil, err
	}
	set := &PolicySet{Policy: base.Policy, Files: []PolicyFile{base}}
	names, err := f.names(FurtherDir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		more, err := f.file(name, nil, jobtoml.ReadFurther)
		if err != nil {
			return nil, err
		}
		if err := f.sameRule(set.Policy, more); err != nil {
			return nil, err
		}
		set.join(more)
	}
	return set, f.owners(set)
}

// join narrows the policy by one more managed file. The serial of the whole is
// the sum, so that an older version of any file, or one that is gone, is seen.
func (s *PolicySet) join(more PolicyFile) {
	serial, further := s.Policy.Serial+more.Policy.Serial, append(s.Policy.Further, more.Name)
	s.Policy = jobspec.Meet(s.Policy, more.Policy)
	s.Files = append(s.Files, more)
	s.Policy.Serial, s.Policy.Further = serial, further
	lines := ""
	for _, f := range s.Files {
		lines += f.Name + " " + f.Policy.Digest.String() + "\n"
	}
	s.Policy.Digest = jobspec.DigestOf([]byte(lines))
}

// file reads one file and says which code a fault in it has.
func (f folder) file(name string, owners []int, parse func(string, []byte) (*jobspec.Policy, error)) (PolicyFile, error) {
	path := filepath.Join(f.path, name)
	text, err := f.read(path, owners)
	if errors.Is(err, fs.ErrNotExist) {
		return PolicyFile{}, &Error{Reason: jobspec.CodePolicyMissing, Path: path, Err: err}
	}
	if err != nil {
		return PolicyFile{}, &Error{Reason: jobspec.CodePolicyPerms, Path: path, Err: err}
	}
	p, err := parse(name, text)
	if err == nil {
		err = checkZones(p)
	}
	if err != nil {
		return PolicyFile{}, &Error{Reason: jobspec.CodeOr(err, jobspec.CodePolicyParse), Path: path, Err: err}
	}
	return PolicyFile{Name: name, Text: text, Policy: p}, nil
}

// checkZones refuses a window in a zone that nobody knows: it would never open.
func checkZones(p *jobspec.Policy) error {
	for _, who := range slices.Sorted(maps.Keys(p.Principals)) { // the same fault is told each time
		for _, w := range slices.Concat(p.Principals[who].Windows...) {
			if _, err := calendar.Location(w.Zone); err != nil {
				return &jobspec.FieldError{Reason: jobspec.CodePolicySchema, Field: "principals." + string(who) + ".windows", Detail: err.Error()}
			}
		}
	}
	return nil
}

// names lists the files of a folder below CONF. A name that is not read would be
// a restriction that nobody notices is missing, so it is refused.
func (f folder) names(dir string) ([]string, error) {
	path := filepath.Join(f.path, dir)
	names, err := f.list(path)
	if err != nil {
		return nil, &Error{Reason: jobspec.CodePolicyPerms, Path: path, Err: err}
	}
	for i, name := range names {
		if stem, ok := strings.CutSuffix(name, ".toml"); !ok || stem == "" || strings.HasPrefix(stem, ".") {
			return nil, &Error{Reason: jobspec.CodePolicySchema, Path: filepath.Join(path, name),
				Err: fmt.Errorf("only NAME.toml may lie in %s; move the file away", dir)}
		}
		names[i] = dir + "/" + name
	}
	return names, nil
}

// sameRule keeps the names of rules apart: records and asks carry them.
func (f folder) sameRule(p *jobspec.Policy, more PolicyFile) error {
	for _, r := range more.Policy.Rules {
		if i := slices.IndexFunc(p.Rules, func(other jobspec.Rule) bool { return other.ID == r.ID }); i >= 0 {
			return &Error{Reason: jobspec.CodePolicySchema, Path: filepath.Join(f.path, more.Name),
				Err: fmt.Errorf("rule %q stands in %s already", r.ID, cmp.Or(p.Rules[i].File, PolicyName))}
		}
	}
	return nil
}

// owners reads what principals keep about their own jobs.
func (f folder) owners(set *PolicySet) error {
	names, err := f.names(OwnerDir)
	if err != nil {
		return err
	}
	for _, name := range names {
		who := jobspec.Principal(strings.TrimSuffix(filepath.Base(name), ".toml"))
		c, known := set.Policy.Principals[who]
		if !known {
			return &Error{Reason: jobspec.CodePolicySchema, Path: filepath.Join(f.path, name),
				Err: fmt.Errorf("policy.toml has no [principals.%s]; the file would bind nobody", who)}
		}
		file, err := f.file(name, f.usersOf(c), func(name string, b []byte) (*jobspec.Policy, error) { return jobtoml.ReadOwner(name, who, b) })
		if set.Policy.Owners == nil {
			set.Policy.Owners = map[jobspec.Principal]jobspec.OwnerLayer{}
		}
		if err != nil {
			set.Policy.Owners[who] = jobspec.OwnerLayer{Reason: jobspec.CodeOr(err, jobspec.CodePolicyParse), Detail: err.Error()}
			continue
		}
		file.Owner = who
		set.Files = append(set.Files, file)
		set.Policy.Owners[who] = jobspec.OwnerLayer{Policy: file.Policy, Digest: file.Policy.Digest}
	}
	return nil
}

// usersOf are the uids that may keep a principal's file beside the service's own:
// in system mode those of the principal's users.
func (f folder) usersOf(c jobspec.Ceiling) []int {
	if f.uid != 0 {
		return nil
	}
	var uids []int
	for _, name := range c.Users {
		u, err := user.Lookup(name)
		if err != nil {
			continue // an account that is not there owns nothing
		}
		if uid, err := strconv.Atoi(u.Uid); err == nil {
			uids = append(uids, uid)
		}
	}
	return uids
}
