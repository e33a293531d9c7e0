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
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// NetProgramCases say that programs in everyday use work unchanged through the
// proxy, against servers of the machine's own loopback.
func NetProgramCases() []Case {
	return []Case{
		{"git clones and pushes over https", false, gitOverHTTPS},
		{"python and pip work over https", false, pipOverHTTPS},
		{"npm works over https", false, npmOverHTTPS},
		{"go takes modules through a forward", false, goThroughForward},
		{"psql works over a forward and over a socket", false, psqlBothWays},
	}
}

// secure serves a handler over TLS as "localhost", and writes the certificate to
// trust to the folder of a job.
func (l *Lab) secure(folder string, h http.Handler) (s *httptest.Server, host string, trust map[string]string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", nil, err
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		return nil, "", nil, err
	}
	s = httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.StartTLS()
	ca := l.file(filepath.Join(folder, "ca.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), 0o644)
	trust = map[string]string{}
	for _, name := range []string{"GIT_SSL_CAINFO", "SSL_CERT_FILE", "PIP_CERT", "NODE_EXTRA_CA_CERTS", "npm_config_cafile"} {
		trust[name] = ca
	}
	return s, "localhost" + s.URL[strings.LastIndex(s.URL, ":"):], trust, nil
}

// works runs a job in the workspace against one host and wants it to end well.
func (l *Lab) works(j Job, cwd, host string, trust map[string]string, want ...string) error {
	j = j.in(jobspec.Workspace, cwd).reaching(host)
	j.env = trust
	j.limits = func(x *jobspec.Limits) { x.TimeoutSeconds, x.TmpBytes = 60, 256<<20 }
	r, err := l.run(j)
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeSucceeded || len(r.End.Connections) == 0 {
		return fmt.Errorf("ended as %s, %v, %v, %v; %s%s", r.End.Outcome, r.End.Reasons, r.End.Denials, r.End.Connections, r.Out, r.Err)
	}
	for _, w := range want {
		if !strings.Contains(r.Out, w) {
			return fmt.Errorf("%q is missing in %q, %q", w, r.Out, r.Err)
		}
	}
	return nil
}

func gitOverHTTPS(l *Lab) error {
	const backend = "/usr/lib/git-core/git-http-backend"
	if _, err := tool("git"); err != nil {
		return err
	}
	if _, err := os.Stat(backend); err != nil {
		return &Missing{backend}
	}
	cwd, root := l.folder("ws"), filepath.Join(l.Dir, "repositories")
	script := `set -e; mkdir -p "$1"; cd "$1"; git init -q -b main seed; cd seed; echo one > file; git add file; git -c user.name=a -c user.email=a@b commit -qm one; git clone -q --bare . ../r.git; git -C ../r.git config http.receivepack true`
	if out, err := exec.Command("/bin/sh", "-c", script, "sh", root).CombinedOutput(); err != nil {
		return fmt.Errorf("make a repository: %w: %s", err, out)
	}
	s, host, trust, err := l.secure(cwd, &cgi.Handler{Path: backend, Root: "/", Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := l.works(shell(`set -e; git clone -q https://`+host+`/r.git; cd r; cat file; echo two > file; git -c user.name=a -c user.email=a@b commit -qam two; git push -q origin main; git log --oneline | wc -l`), cwd, host, trust, "one\n2\n"); err != nil {
		return err
	}
	out, err := exec.Command("git", "-c", "safe.directory=*", "-C", root+"/r.git", "log", "--format=%s", "main").Output()
	if err != nil || string(out) != "two\none\n" {
		return fmt.Errorf("the server has %q, %v", out, err)
	}
	return nil
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

func pipOverHTTPS(l *Lab) error {
	if _, err := tool("pip3"); err != nil {
		return err
	}
	cwd := l.folder("ws")
	mux := http.NewServeMux()
	mux.HandleFunc("/simple/greeter/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<html><body><a href="/files/greeter-1.0-py3-none-any.whl">greeter-1.0-py3-none-any.whl</a></body></html>`)
	})
	mux.HandleFunc("/files/", func(w http.ResponseWriter, _ *http.Request) { w.Write(wheel()) })
	s, host, trust, err := l.secure(cwd, mux)
	if err != nil {
		return err
	}
	defer s.Close()
	return l.works(shell(`set -e
pip3 install -q --disable-pip-version-check --target lib --index-url https://`+host+`/simple greeter
PYTHONPATH=lib python3 -c "
import greeter, urllib.request
print(len(urllib.request.urlopen('https://`+host+`/files/x').read()) > 100)"`), cwd, host, trust, "hello from a wheel\nTrue\n")
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

func npmOverHTTPS(l *Lab) error {
	if _, err := tool("npm"); err != nil {
		return err
	}
	cwd := l.folder("ws")
	body := npmPackage()
	sum := sha512.Sum512(body)
	var host string
	mux := http.NewServeMux()
	mux.HandleFunc("/greeter", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name":"greeter","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"greeter","version":"1.0.0","dist":{"tarball":"https://%s/t/greeter-1.0.0.tgz","integrity":"sha512-%s"}}}}`,
			host, base64.StdEncoding.EncodeToString(sum[:]))
	})
	mux.HandleFunc("/t/", func(w http.ResponseWriter, _ *http.Request) { w.Write(body) })
	s, host, trust, err := l.secure(cwd, mux)
	if err != nil {
		return err
	}
	defer s.Close()
	l.file(cwd+"/package.json", `{"name":"x","version":"1.0.0","private":true,"dependencies":{"greeter":"1.0.0"}}`, 0o644)
	npm := "npm --no-audit --no-fund --no-update-notifier --registry https://" + host + "/ "
	return l.works(shell(`set -e; `+npm+`install >/dev/null; rm -r node_modules; `+npm+`ci >/dev/null; node -e 'require("greeter")'`), cwd, host, trust, "hello from a package\n")
}

// goThroughForward: go never asks a proxy for localhost, so its module server is
// shown as a port of the job's own loopback.
func goThroughForward(l *Lab) error {
	if _, err := tool("go"); err != nil {
		return err
	}
	cwd := l.folder("ws")
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
	defer s.Close()
	port := s.URL[strings.LastIndex(s.URL, ":"):]
	l.file(cwd+"/go.mod", "module x\ngo 1.21\nrequire m.test/greeter v1.0.0\n", 0o644)
	l.file(cwd+"/main.go", "package main\n\nimport \"m.test/greeter\"\n\nfunc main() { print(greeter.Hello) }\n", 0o644)
	j := shell("set -e; PATH=$PATH:/usr/local/go/bin; go mod download m.test/greeter; cat $(go env GOMODCACHE)/m.test/greeter@v1.0.0/g.go").in(jobspec.Workspace, cwd)
	j.net = &Network{proxy: true, forward: []string{"localhost" + port}}
	j.env = map[string]string{"GOPROXY": "http://127.0.0.1" + port, "GONOSUMDB": "*", "GOFLAGS": "-mod=mod -p=1", "GOTOOLCHAIN": "local", "GOSUMDB": "off"}
	j.limits = func(x *jobspec.Limits) { x.TimeoutSeconds, x.TmpBytes = 120, 512<<20 }
	r, err := l.run(j)
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeSucceeded || !strings.Contains(r.Out, "hello from a module") || len(r.End.Connections) == 0 {
		return fmt.Errorf("ended as %s, %v, %v; %s%s", r.End.Outcome, r.End.Denials, r.End.Connections, r.Out, r.Err)
	}
	return nil
}
