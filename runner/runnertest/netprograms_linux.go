package runnertest

import (
	tarball "archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// secure serves a handler over TLS as "localhost", and writes the certificate to
// trust to the folder of a job.
func (l *Lab) secure(folder string, h http.Handler) (s *httptest.Server, host string, trust map[string]string, err error) {
	root, own, err := certificates()
	if err != nil {
		return nil, "", nil, err
	}
	s = httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{own}}
	s.StartTLS()
	ca := l.file(filepath.Join(folder, "ca.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root})), 0o644)
	trust = map[string]string{}
	for _, name := range []string{"GIT_SSL_CAINFO", "SSL_CERT_FILE", "PIP_CERT", "NODE_EXTRA_CA_CERTS", "npm_config_cafile"} {
		trust[name] = ca
	}
	return s, "localhost" + s.URL[strings.LastIndex(s.URL, ":"):], trust, nil
}

// certificates makes that of an authority and, signed by it, one of "localhost":
// some programs take none that is both.
func certificates() (root []byte, own tls.Certificate, err error) {
	of := func(c, parent *x509.Certificate, signer *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, nil, err
		}
		c.NotBefore, c.NotAfter, c.BasicConstraintsValid = time.Now().Add(-time.Hour), time.Now().Add(time.Hour), true
		if signer == nil {
			signer = key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
		return der, key, err
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, KeyUsage: x509.KeyUsageCertSign}
	root, signer, err := of(ca, ca, nil)
	if err != nil {
		return nil, own, err
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	parent, err := x509.ParseCertificate(root)
	if err != nil {
		return nil, own, err
	}
	der, key, err := of(leaf, parent, signer)
	return root, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// gitServer has a repository that only who knows the password may see, and a
// clone of it in the cwd.
func gitServer(l *Lab, cwd string) (*offer, error) {
	const backend, secret = "/usr/lib/git-core/git-http-backend", "hunter2222"
	if _, err := os.Stat(backend); err != nil {
		return nil, &Missing{backend}
	}
	root := filepath.Join(l.Dir, "repositories")
	handler := &cgi.Handler{Path: backend, Root: "/", Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}}
	s, host, trust, err := l.secure(l.folder("trust"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, pass, ok := r.BasicAuth(); !ok || user != "bob" || pass != secret {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	if err != nil {
		return nil, err
	}
	script := `set -e; mkdir -p "$1"; cd "$1"; git init -q -b main seed; cd seed; echo one > file; git add file; git -c user.name=a -c user.email=a@b commit -qm one; git clone -q --bare . ../r.git; git -C ../r.git config http.receivepack true
git clone -q . "$2"; git -c 'safe.directory=*' -C "$2" remote set-url origin "https://$3/r.git"; chown -R "$4" "$2"`
	if out, err := exec.Command("/bin/sh", "-c", script, "sh", root, cwd, host, fmt.Sprintf("%d:%d", l.account.UID, l.account.GID)).CombinedOutput(); err != nil {
		s.Close()
		return nil, fmt.Errorf("make a repository: %w: %s", err, out)
	}
	trust["HOST"] = host
	return &offer{host: host, env: trust, git: "commit", reads: []string{filepath.Join(l.Dir, "trust")}, stop: s.Close,
		credentials: []jobspec.Credential{{Name: "git", As: "path:~/.git-credentials"}},
		values:      map[string]string{"git": "https://bob:" + secret + "@" + strings.Replace(host, ":", "%3a", 1) + "\n"},
		after: func() error {
			out, err := exec.Command("git", "-c", "safe.directory=*", "-C", root+"/r.git", "log", "--format=%s", "main").Output()
			if err != nil || string(out) != "two\none\n" {
				return fmt.Errorf("the server has %q, %v", out, err)
			}
			return nil
		}}, nil
}

// secured is the offer of a server over TLS.
func (l *Lab) secured(cwd string, h http.Handler) (*offer, error) {
	s, host, trust, err := l.secure(cwd, h)
	if err != nil {
		return nil, err
	}
	trust["HOST"] = host
	return &offer{host: host, env: trust, stop: s.Close}, nil
}

// wheel is a package of python with one module.
func wheel() []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"greeter.py":                     "print('hello from a wheel')\n",
		"greeter-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"greeter-1.0.dist-info/RECORD":   "",
		"greeter-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n",
	} {
		w, err := z.Create(name)
		must(err)
		_, err = w.Write([]byte(text))
		must(err)
	}
	must(z.Close())
	return b.Bytes()
}

func pipServer(l *Lab, cwd string) (*offer, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("/simple/greeter/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<html><body><a href="/files/greeter-1.0-py3-none-any.whl">greeter-1.0-py3-none-any.whl</a></body></html>`)
	})
	mux.HandleFunc("/files/", func(w http.ResponseWriter, _ *http.Request) { w.Write(wheel()) })
	return l.secured(cwd, mux)
}

// npmPackage is a package of npm with one module.
func npmPackage() []byte {
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	t := tarball.NewWriter(g)
	for name, text := range map[string]string{"package/package.json": `{"name":"greeter","version":"1.0.0","main":"i.js"}`, "package/i.js": `console.log("hello from a package")`} {
		must(t.WriteHeader(&tarball.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, err := t.Write([]byte(text))
		must(err)
	}
	must(t.Close())
	must(g.Close())
	return b.Bytes()
}

func npmServer(l *Lab, cwd string) (*offer, error) {
	body := npmPackage()
	sum := sha512.Sum512(body)
	mux := http.NewServeMux()
	mux.HandleFunc("/greeter", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"name":"greeter","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"greeter","version":"1.0.0","dist":{"tarball":"https://%s/t/greeter-1.0.0.tgz","integrity":"sha512-%s"}}}}`,
			r.Host, base64.StdEncoding.EncodeToString(sum[:]))
	})
	mux.HandleFunc("/t/", func(w http.ResponseWriter, _ *http.Request) { w.Write(body) })
	l.file(cwd+"/package.json", `{"name":"x","version":"1.0.0","private":true,"dependencies":{"greeter":"1.0.0"}}`, 0o644)
	return l.secured(cwd, mux)
}

// goServer: go never asks a proxy for localhost, so its module server is shown as
// a port of the job's own loopback.
func goServer(l *Lab, cwd string) (*offer, error) {
	var z bytes.Buffer
	w := zip.NewWriter(&z)
	for name, text := range map[string]string{"m.test/greeter@v1.0.0/go.mod": "module m.test/greeter\n", "m.test/greeter@v1.0.0/g.go": "package greeter\n\nconst Hello = \"hello from a module\"\n"} {
		f, err := w.Create(name)
		must(err)
		_, err = f.Write([]byte(text))
		must(err)
	}
	must(w.Close())
	mux := http.NewServeMux()
	mux.HandleFunc("/m.test/greeter/@v/list", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "v1.0.0\n") })
	mux.HandleFunc("/m.test/greeter/@v/v1.0.0.info", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"Version":"v1.0.0"}`) })
	mux.HandleFunc("/m.test/greeter/@v/v1.0.0.mod", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "module m.test/greeter\n") })
	mux.HandleFunc("/m.test/greeter/@v/v1.0.0.zip", func(out http.ResponseWriter, _ *http.Request) { out.Write(z.Bytes()) })
	s := httptest.NewServer(mux)
	port := s.URL[strings.LastIndex(s.URL, ":"):]
	l.file(cwd+"/go.mod", "module x\ngo 1.21\nrequire m.test/greeter v1.0.0\n", 0o644)
	l.file(cwd+"/main.go", "package main\n\nimport \"m.test/greeter\"\n\nfunc main() { print(greeter.Hello) }\n", 0o644)
	return &offer{forward: []string{"localhost" + port}, stop: s.Close,
		env: map[string]string{"GOPROXY": "http://127.0.0.1" + port, "GONOSUMDB": "*", "GOFLAGS": "-mod=mod -p=1", "GOTOOLCHAIN": "local", "GOSUMDB": "off"}}, nil
}
