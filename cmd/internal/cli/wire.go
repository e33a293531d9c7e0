package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/client"
	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/throwaway"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/keysource"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// Wire joins the command line to the rest of the program. It is the one place
// that knows concrete types.
func Wire(version string, now func() time.Time) Ports {
	w := wiring{version: version, now: now}
	return Ports{
		Service: w.service,
		ServiceAt: func(ctx context.Context, socket string) (api.Service, error) {
			return client.Dial(ctx, socket, max(os.Getuid(), 0))
		},
		Site:     w.openSite,
		Folders:  w.folders,
		Key:      func(ctx context.Context, s keysource.Source) (keysource.Signer, error) { return s.Open(ctx) },
		Probes:   w.probes,
		Backends: w.backends,
		Zone:     examine.LocalZone,
		Daemon:   w.daemonPort(),
		Trial:    w.trialPort(),
		Attempts: attemptsProgram,
		Account:  accountOf,
		Try:      w.tryPort(),
		Notices:  w.noticesPort(),
	}
}

type wiring struct {
	version string
	now     func() time.Time
}

// locate finds the installation that a command is about: the one below root,
// else the caller's own, else, for somebody who has none, that of root.
func locate(root string) (config.Site, error) {
	site, err := config.Find(root)
	if root != "" {
		if err == nil && ofRoot(site) {
			site.UID = 0
		}
		return site, err
	}
	if err == nil && site.System() {
		return site, nil
	}
	own := err == nil && (exists(site.Host()) || exists(site.ChainDB())) // an account need not have a home
	if system := config.System(); !own && exists(system.Host()) {
		return system, nil
	}
	return site, err
}

// ofRoot reports whether a folder that the caller named holds an installation of
// root. Nothing of it is opened as the caller's own: root's service is asked.
func ofRoot(site config.Site) bool {
	owner, err := safefile.Owner(site.Conf)
	if err != nil { // a folder above it is closed to the caller
		owner, err = safefile.Owner(filepath.Dir(site.Conf))
	}
	return err == nil && owner == 0
}

// owns reports whether the caller may open the files of site.
func owns(site config.Site) bool { return site.UID == max(os.Getuid(), 0) }

// folders are where init makes an installation: never root's, for a user.
func (w wiring) folders(root string) (store.Dirs, error) {
	if root != "" {
		mode := os.FileMode(0o700)
		if os.Getuid() == 0 {
			mode = 0o755 // others reach the socket of root's service, as below /run
		}
		if err := os.MkdirAll(root, mode); err != nil {
			return store.Dirs{}, fmt.Errorf("make folder %q: %w", root, err)
		}
	}
	site, err := config.Find(root)
	return site.Dirs, err
}

func (w wiring) service(ctx context.Context, root string) (api.Service, error) {
	site, err := locate(root)
	if err != nil {
		return nil, err
	}
	c, err := client.Dial(ctx, site.Socket(), site.UID)
	switch {
	case err == nil:
		return c, nil
	case api.Wrap(err).ErrCode != jobspec.CodeServiceDown || !owns(site):
		return nil, err
	}
	return w.engine(site)
}

func (w wiring) engine(site config.Site) (api.Service, error) {
	x, done, err := w.examiner(site)
	if err != nil {
		return nil, err
	}
	open := func() (*engine.Engine, error) {
		return engine.Open(engine.Options{Site: site, Clock: w.now, BootID: bootID(), Version: w.version, Examiner: x,
			Outputs: store.NewOutputs(site.Dirs, nil), Disk: store.RealDisk{}})
	}
	return engine.NewVisitor(open, func() error { done(); return nil }), nil
}

// examiner looks at specs with the rights of this process.
func (w wiring) examiner(site config.Site) (*examine.Examiner, func(), error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find own program: %w", err)
	}
	probers, done := newSandboxes(w.now)
	x := &examine.Examiner{Site: site, Sandbox: probers[jobspec.BackendBwrap], Landlock: probers[jobspec.BackendLandlock], Cache: pin.NewCache(w.now), Bwrap: bwrapPath, Binary: binary, Now: w.now}
	return x, done, nil
}

func (w wiring) openSite(root string) (Site, error) {
	site, err := locate(root)
	if err != nil {
		return nil, err
	}
	return &ownSite{site: site, w: w, root: root}, nil
}

// ownSite is a Site on the files of CONF.
type ownSite struct {
	site config.Site
	w    wiring
	root string // "": where the uid's installation lies
}

// SeenDir lies below the folder that was named, else in the caller's home, beside
// STATE: an older STATE that is put back brings no older memory with it.
func (s *ownSite) SeenDir() (string, error) {
	if s.root != "" && owns(s.site) {
		return filepath.Join(filepath.Dir(s.site.Conf), "seen"), nil
	}
	return config.SeenDir()
}

func (s *ownSite) Dirs() store.Dirs               { return s.site.Dirs }
func (s *ownSite) Trust() (*signing.Trust, error) { return s.site.Trust() }
func (s *ownSite) Pin() (store.Pin, error)        { return store.ReadPin(s.site.Dirs) }
func (s *ownSite) DefaultKey() (string, error)    { return defaultKey(s.site) }

// defaultKey reads which key init recorded. It is for the owner alone; others
// name theirs.
func defaultKey(site config.Site) (string, error) {
	if !owns(site) {
		return "", nil
	}
	return site.DefaultKey()
}

func (s *ownSite) Policy() (*config.PolicySet, error) { return s.site.PolicySet(s.serial()) }

func (s *ownSite) CheckPolicy() []config.PolicyProblem { return s.site.CheckPolicy(s.serial()) }

func (s *ownSite) SelfImposed() bool { return !s.site.System() }

// serial is the highest one of a policy that was seen here.
func (s *ownSite) serial() int64 {
	p, err := s.Pin()
	if err != nil {
		return 0 // the pin's own fault is told by whoever needs it
	}
	return p.PolicySerial
}

func (s *ownSite) Replay(op *jobspec.Op, p *jobspec.Policy, at time.Time) (jobspec.Decision, error) {
	x, done, err := s.w.examiner(s.site)
	if err != nil {
		return jobspec.Decision{}, err
	}
	defer done()
	return x.Replay(op, p, at), nil
}

func (s *ownSite) Candidate(ctx context.Context, d *jobspec.Draft, at examine.Position, base string) (*jobspec.Op, error) {
	x, done, err := s.w.examiner(s.site)
	if err != nil {
		return nil, err
	}
	defer done()
	return x.Candidate(ctx, d, at, base)
}

func (s *ownSite) Rebound(ctx context.Context, old *jobspec.Op, at examine.Position) (*jobspec.Op, error) {
	x, done, err := s.w.examiner(s.site)
	if err != nil {
		return nil, err
	}
	defer done()
	return x.Rebound(ctx, old, at)
}

func (s *ownSite) Examine(ctx context.Context, op *jobspec.Op, identity jobspec.Code, detail string, credentials []string) (jobspec.Input, error) {
	x, done, err := s.w.examiner(s.site)
	if err != nil {
		return jobspec.Input{}, err
	}
	defer done()
	e, err := x.Examine(ctx, jobspec.PhaseAdd, examine.Subject{Op: op, Identity: identity, IdentityDetail: detail, Credentials: credentials}, throwaway.First)
	if err != nil {
		return jobspec.Input{}, err
	}
	defer e.Close()
	return e.Input, nil
}
