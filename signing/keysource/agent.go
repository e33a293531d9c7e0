package keysource

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/sbxcron/sbxcron/signing"
)

// agentWait bounds every exchange with the agent. It answers nothing while it
// waits for a person, so this is also how long that person has.
const agentWait = 60 * time.Second

// AgentKey is one key that an agent offers and that may sign.
type AgentKey struct {
	KeyID   string
	Key     ssh.PublicKey
	Comment string // foreign text: quote it
}

// AgentKeys lists the agent's keys of accepted types, so that a person can name
// one. Keys of other types are left out.
func AgentKeys(ctx context.Context, socket string, a signing.Algorithms) ([]AgentKey, error) {
	var listed []*agent.Key
	err := withAgent(ctx, socket, func(c agent.ExtendedAgent) (err error) {
		listed, err = c.List()
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []AgentKey
	for _, k := range listed {
		key, err := signing.ParseKey(k.Blob, a)
		if err != nil {
			continue
		}
		out = append(out, AgentKey{KeyID: signing.KeyID(key), Key: key, Comment: k.Comment})
	}
	return out, nil
}

// agentSigner signs with one key of an agent, over a connection of its own for
// each signature.
type agentSigner struct {
	socket string
	public ssh.PublicKey
}

// openAgent finds the key with this ID in the agent.
func (s Source) openAgent(ctx context.Context, id string) (Signer, error) {
	var listed []*agent.Key
	err := withAgent(ctx, s.AgentSocket, func(c agent.ExtendedAgent) (err error) {
		listed, err = c.List()
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, k := range listed {
		if ssh.FingerprintSHA256(k) != id {
			continue
		}
		key, err := signing.ParseKey(k.Blob, s.Algorithms)
		if err != nil {
			return nil, fmt.Errorf("open key %s of the agent: %w", id, err)
		}
		return &agentSigner{socket: s.AgentSocket, public: key}, nil
	}
	return nil, &KeyError{
		what: fmt.Sprintf("open key %s: the agent holds %d keys, not this one", id, len(listed)),
		hint: "load it with ssh-add (an agent that is locked shows no key: ssh-add -X)",
	}
}

// Public implements Signer.
func (a *agentSigner) Public() ssh.PublicKey { return a.public }

// KeyID implements Signer.
func (a *agentSigner) KeyID() string { return signing.KeyID(a.public) }

// Sign implements Signer.
func (a *agentSigner) Sign(ctx context.Context, namespace string, msg []byte) ([]byte, error) {
	var sig *ssh.Signature
	var refused error
	err := withAgent(ctx, a.socket, func(c agent.ExtendedAgent) error {
		sig, refused = c.SignWithFlags(a.public, signing.SignedBlob(namespace, msg), a.flags())
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case refused != nil:
		return nil, a.refusal(ctx, refused)
	}
	return finish(a.public, namespace, msg, sig)
}

// flags asks for SHA-512 where the key type leaves a choice.
func (a *agentSigner) flags() agent.SignatureFlags {
	if a.public.Type() == ssh.KeyAlgoRSA {
		return agent.SignatureFlagRsaSha512
	}
	return 0
}

// refusal explains an agent that said no. Its protocol has a single answer for
// all reasons, so all are listed.
func (a *agentSigner) refusal(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), err)
	}
	return &KeyError{
		what: fmt.Sprintf("sign with key %s of the agent", a.KeyID()), cause: err,
		hint: "the agent refused or nobody confirmed in time: a key added with ssh-add -c needs SSH_ASKPASS where the agent runs, " +
			"a key limited to hosts (ssh-add -h) or in a forwarded agent signs no jobs, a locked agent signs nothing (ssh-add -X), " +
			"and a key's lifetime (ssh-add -t) may have ended",
	}
}

// withAgent connects, runs fn and closes. When ctx or the time limit ends, the
// connection is closed under fn, which then returns.
func withAgent(ctx context.Context, socket string, fn func(agent.ExtendedAgent) error) error {
	if socket == "" {
		return &KeyError{what: "reach ssh-agent: no socket known", hint: "start one (eval $(ssh-agent)), load the key with ssh-add, or name a private key file"}
	}
	ctx, cancel := context.WithTimeout(ctx, agentWait)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return &KeyError{what: "reach ssh-agent", cause: err, hint: "check SSH_AUTH_SOCK, or name a private key file"}
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer conn.Close()
	defer stop()
	if err := fn(agent.NewClient(conn)); err != nil {
		return &KeyError{what: "ask ssh-agent", cause: errors.Join(ctx.Err(), err), hint: "check SSH_AUTH_SOCK, or name a private key file"}
	}
	return nil
}
