package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/sbxcron/sbxcron/cmd/internal/client"
	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/daemon"
	"github.com/sbxcron/sbxcron/cmd/internal/doctor"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// probes gathers what doctor judges. It changes nothing.
func (w wiring) probes(ctx context.Context, root string) (doctor.Facts, error) {
	site, err := locate(root)
	if err != nil {
		return doctor.Facts{}, err
	}
	f := doctor.Facts{Platform: runtime.GOOS, System: site.System(), UID: site.UID, Now: w.now(), Zone: examine.LocalZone()}
	f.Kernel()
	f.Files = fileFacts(site)
	if p, err := store.ReadPin(site.Dirs); err == nil {
		f.HighestSeen = p.Time.Time()
	}
	probers, done := newSandboxes(w.now)
	defer done()
	f.Sandbox, f.Weaker = probers[jobspec.BackendBwrap].Probe(ctx), []jobspec.Sandbox{probers[jobspec.BackendLandlock].Probe(ctx)}
	f.StateOn(site.State)
	f.Key = keyFact(site)
	if owns(site) && exists(site.Host()) {
		n, err := site.Notices()
		f.Notices = doctor.NoticeFact{Asked: true, Err: err}
		if err == nil {
			f.Notices.Channels = len(n.Channels)
		}
	}
	w.askService(ctx, site, &f)
	f.History = historyFact(site)
	return f, nil
}

// historyFact looks at the newest checkpoint, where the caller owns the files. It
// verifies nothing: the service does, and audit verify.
func historyFact(site config.Site) (h doctor.HistoryFact) {
	if !owns(site) || !exists(site.Host()) {
		return h
	}
	h.Asked, h.Syslog = true, exists(daemon.Syslog)
	if kept, err := store.ReceiptsProtected(site.Dirs); err == nil {
		h.Receipts = map[bool]doctor.Answer{true: doctor.Yes, false: doctor.No}[kept]
	}
	note, err := store.ReadCheckpoint(site.Dirs)
	if err != nil || note == "" {
		h.Err = err
		return h
	}
	c, err := checkpoint.Unverified(note)
	h.Err, h.Lines, h.Epoch, h.Time = err, c.Size, c.Epoch, c.Time.Time()
	return h
}

func (w wiring) askService(ctx context.Context, site config.Site, f *doctor.Facts) {
	c, err := client.Dial(ctx, site.Socket(), site.UID)
	if err != nil {
		f.ServiceError = err
		return
	}
	defer c.Close()
	st, err := c.Status(ctx)
	f.Service, f.ServicePID, f.ServiceError = err == nil && st.Service, st.PID, err
}

// fileFacts looks at everything that must be safe to use. What the caller may
// not read is passed over where it is not the caller's.
func fileFacts(site config.Site) []doctor.FileFact {
	if !exists(site.Host()) {
		return nil
	}
	var facts []doctor.FileFact
	for _, dir := range []string{site.Conf, site.State, site.Run} {
		facts = append(facts, doctor.FileFact{Path: dir, Err: unlessForeign(site, safefile.CheckDir(dir, site.UID))})
	}
	for _, file := range []string{site.Host(), site.AllowedSigners(), site.RevokedKeys(), site.Dirs.Policy(), site.Dirs.Pin(), site.AuditKey(),
		config.KeyFile(site.Dirs), site.ChainDB()} {
		f, err := safefile.Open(file, os.O_RDONLY, safefile.Options{UID: site.UID})
		if err == nil {
			err = f.Close()
		}
		facts = append(facts, doctor.FileFact{Path: file, Err: unlessForeign(site, err)})
	}
	return slices.Concat(facts, policyFacts(site), credentialFacts(site))
}

// credentialFacts look at each value in CONF as a trigger would, and keep none.
func credentialFacts(site config.Site) []doctor.FileFact {
	var facts []doctor.FileFact
	for _, name := range site.CredentialNames() {
		value, err := site.Credential(name)
		clear(value)
		facts = append(facts, doctor.FileFact{Path: site.CredentialFile(name), Err: unlessForeign(site, err)})
	}
	return facts
}

// policyFacts are the faults of the policy's files, as a decision would find
// them; how policy.toml itself lies there was looked at before.
func policyFacts(site config.Site) []doctor.FileFact {
	set, err := site.PolicySet(0)
	refused, ok := errors.AsType[*config.Error](err)
	switch {
	case err == nil:
		return ownerFacts(site, set)
	case ok && refused.Path == site.Dirs.Policy() && refused.Reason != jobspec.CodePolicyParse && refused.Reason != jobspec.CodePolicySchema && refused.Reason != jobspec.CodePolicySelftest:
		return nil
	}
	return []doctor.FileFact{{Path: site.Dirs.Policy(), Err: unlessForeign(site, err)}}
}

func ownerFacts(site config.Site, set *config.PolicySet) []doctor.FileFact {
	var facts []doctor.FileFact
	for _, who := range slices.Sorted(maps.Keys(set.Policy.Owners)) {
		if o := set.Policy.Owners[who]; o.Reason != "" {
			path := filepath.Join(site.Conf, config.OwnerDir, string(who)+".toml")
			facts = append(facts, doctor.FileFact{Path: path, Err: ownError(o.Reason, o.Reason.Class(), o.Reason.Remedy(), "%s", o.Detail)})
		}
	}
	return facts
}

func unlessForeign(site config.Site, err error) error {
	if errors.Is(err, fs.ErrPermission) && !owns(site) {
		return nil
	}
	return err
}

// keyFact looks at the key file that add uses, as the service could.
func keyFact(site config.Site) doctor.KeyFact {
	key, err := defaultKey(site)
	if err != nil || !filepath.IsAbs(key) {
		return doctor.KeyFact{}
	}
	f := doctor.KeyFact{Path: key}
	text, err := readFile(key, maxKeyFile)
	if err != nil {
		return f
	}
	defer clear(text)
	block, _ := pem.Decode(text)
	if block == nil {
		return f // a public key: the private one is in an agent
	}
	defer clear(block.Bytes)
	f.Readable, f.Encrypted = true, doctor.No
	if cipher := keyCipher(block.Bytes); cipher != "none" {
		f.Encrypted = doctor.Yes
	}
	return f
}

// keyCipher reads the name of the cipher, which an OpenSSH private key begins
// with (PROTOCOL.key in OpenSSH's sources). It reads nothing that is secret.
func keyCipher(key []byte) string {
	rest, ok := bytes.CutPrefix(key, []byte("openssh-key-v1\x00"))
	if !ok || len(rest) < 4 {
		return ""
	}
	n := int64(binary.BigEndian.Uint32(rest))
	if rest = rest[4:]; n > int64(len(rest)) {
		return ""
	}
	return string(rest[:n])
}

// backends tries every backend of this build, the strongest first.
func (w wiring) backends(ctx context.Context) []jobspec.Sandbox {
	probers, done := newSandboxes(w.now)
	defer done()
	var all []jobspec.Sandbox
	for _, name := range jobspec.Backends() {
		all = append(all, probers[name].Probe(ctx))
	}
	return all
}
