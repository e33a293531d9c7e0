package keysource_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/keysource"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

func TestAgentSignsForStockSSHKeygen(t *testing.T) {
	for kind := range stockTypes {
		t.Run(kind, func(t *testing.T) {
			socket := signingtest.Agent(t)
			signingtest.AgentAdd(t, socket, stockKey(t, "ed25519", "")) // first in the agent, not ours
			key := stockKey(t, kind, "")
			signingtest.AgentAdd(t, socket, key)
			id := signing.KeyID(signingtest.ReadPublic(t, key+".pub"))
			for _, name := range []string{key + ".pub", id} {
				s := open(t, keysource.Source{Key: name, AgentSocket: socket, Algorithms: all})
				if s.KeyID() != id {
					t.Fatalf("%s opened %s", name, s.KeyID())
				}
				acceptedByAll(t, s, key+".pub")
			}
		})
	}
}

func TestStockSSHKeygenSignsThroughTheAgentForUs(t *testing.T) {
	socket, key := signingtest.Agent(t), stockKey(t, "ed25519", "")
	signingtest.AgentAdd(t, socket, key)
	pub := signingtest.File(t, "only.pub", mustRead(t, key+".pub"))
	armored := signingtest.StockSign(t, []string{"SSH_AUTH_SOCK=" + socket}, pub, ns, opBytes)
	sig, err := signing.ParseSignature(armored)
	if err != nil {
		t.Fatal(err)
	}
	if err := sig.Verify(opBytes); err != nil || sig.Namespace != ns {
		t.Errorf("namespace %q: %v", sig.Namespace, err)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAgentRefusalsAreExplained(t *testing.T) {
	t.Run("confirmation without anybody to ask", func(t *testing.T) {
		socket, key := signingtest.Agent(t), stockKey(t, "ed25519", "")
		signingtest.AgentAdd(t, socket, key, "-c")
		_, err := open(t, keysource.Source{Key: key + ".pub", AgentSocket: socket}).Sign(t.Context(), ns, opBytes)
		if k := unavailable(t, err); !strings.Contains(k.Hint(), "ssh-add -c") || !strings.Contains(err.Error(), "of the agent") {
			t.Errorf("got %v, hint %q", err, k.Hint())
		}
	})
	t.Run("key limited to a host", func(t *testing.T) {
		socket, key := signingtest.Agent(t), stockKey(t, "ed25519", "")
		hosts := signingtest.File(t, "known_hosts", append([]byte("example.org "), mustRead(t, key+".pub")...))
		signingtest.AgentAdd(t, socket, key, "-H", hosts, "-h", "example.org")
		_, err := open(t, keysource.Source{Key: key + ".pub", AgentSocket: socket}).Sign(t.Context(), ns, opBytes)
		if k := unavailable(t, err); !strings.Contains(k.Hint(), "ssh-add -h") {
			t.Errorf("got %v, hint %q", err, k.Hint())
		}
	})
	t.Run("agent without the key", func(t *testing.T) {
		socket, key := signingtest.Agent(t), stockKey(t, "ed25519", "")
		signingtest.AgentAdd(t, socket, stockKey(t, "ed25519", ""))
		_, err := keysource.Source{Key: key + ".pub", AgentSocket: socket}.Open(t.Context())
		if k := unavailable(t, err); !strings.Contains(k.Hint(), "ssh-add") {
			t.Errorf("got %v, hint %q", err, k.Hint())
		}
	})
	t.Run("no agent", func(t *testing.T) {
		key := stockKey(t, "ed25519", "")
		for _, socket := range []string{"", filepath.Join(t.TempDir(), "none")} {
			_, err := keysource.Source{Key: key + ".pub", AgentSocket: socket}.Open(t.Context())
			unavailable(t, err)
		}
	})
	t.Run("key removed meanwhile", func(t *testing.T) {
		socket, key := signingtest.Agent(t), stockKey(t, "ed25519", "")
		signingtest.AgentAdd(t, socket, key)
		s := open(t, keysource.Source{Key: key + ".pub", AgentSocket: socket})
		if _, err := signingtest.Run(t, nil, []string{"SSH_AUTH_SOCK=" + socket}, "ssh-add", "-D"); err != nil {
			t.Fatal(err)
		}
		_, err := s.Sign(t.Context(), ns, opBytes)
		unavailable(t, err)
	})
}

func TestAgentKeysAreListedForAPersonToChoose(t *testing.T) {
	socket := signingtest.Agent(t)
	ed, rsa := stockKey(t, "ed25519", ""), stockKey(t, "rsa-3072", "")
	signingtest.AgentAdd(t, socket, rsa)
	signingtest.AgentAdd(t, socket, ed)
	keys, err := keysource.AgentKeys(t.Context(), socket, signing.Algorithms{})
	if err != nil || len(keys) != 1 || keys[0].KeyID != signing.KeyID(signingtest.ReadPublic(t, ed+".pub")) || keys[0].Comment != "owner@test" {
		t.Errorf("got %+v, %v", keys, err)
	}
	if keys, err := keysource.AgentKeys(t.Context(), socket, all); err != nil || len(keys) != 2 {
		t.Errorf("got %+v, %v", keys, err)
	}
}

// liar is an agent that offers one key and signs with another, or never.
type liar struct {
	agent.Agent
	shown ssh.PublicKey
	used  ssh.Signer
	wait  chan struct{}
}

func (l liar) List() ([]*agent.Key, error) {
	return []*agent.Key{{Format: l.shown.Type(), Blob: l.shown.Marshal()}}, nil
}

func (l liar) Sign(_ ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	if l.wait != nil {
		<-l.wait
	}
	return l.used.Sign(nil, data)
}

// serve answers on a socket until the test ends.
func serve(t *testing.T, l liar) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "liar")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				agent.ServeAgent(l, conn)
			}()
		}
	}()
	t.Cleanup(func() {
		ln.Close()
		<-done
		os.RemoveAll(dir)
	})
	return socket
}

func newLiar(t *testing.T) liar {
	t.Helper()
	other, err := ssh.NewSignerFromKey(signingtest.NewKey(t, "mallory", ns).Private())
	if err != nil {
		t.Fatal(err)
	}
	return liar{shown: signingtest.NewKey(t, "alice", ns).Public(), used: other}
}

func TestSignatureOfALyingAgentIsNotReturned(t *testing.T) {
	l := newLiar(t)
	s := open(t, keysource.Source{Key: signing.KeyID(l.shown), AgentSocket: serve(t, l)})
	sig, err := s.Sign(t.Context(), ns, opBytes)
	var u *signing.UntrustedError
	if sig != nil || !errors.As(err, &u) || u.Code() != "sig_invalid" {
		t.Errorf("got %x, %v", sig, err)
	}
}

func TestSilentAgentEndsWithTheContext(t *testing.T) {
	l := newLiar(t)
	l.wait = make(chan struct{})
	defer close(l.wait)
	s := open(t, keysource.Source{Key: signing.KeyID(l.shown), AgentSocket: serve(t, l)})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := s.Sign(ctx, ns, opBytes)
	if unavailable(t, err); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
}

func TestAgentOfKeysWithSmallOrderIsRefused(t *testing.T) {
	l := newLiar(t)
	identity := make(ed25519.PublicKey, ed25519.PublicKeySize)
	identity[0] = 1
	key, err := ssh.NewPublicKey(identity)
	if err != nil {
		t.Fatal(err)
	}
	l.shown = key
	_, err = keysource.Source{Key: signing.KeyID(key), AgentSocket: serve(t, l)}.Open(t.Context())
	var u *signing.UntrustedError
	if !errors.As(err, &u) || u.Code() != "sig_alg_unsupported" {
		t.Errorf("got %v", err)
	}
}
