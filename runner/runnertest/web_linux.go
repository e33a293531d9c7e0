package runnertest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// web is a server of the machine's own loopback that counts its requests.
type web struct {
	*httptest.Server
	port string // ":1234"
	mu   sync.Mutex
	hits []string
}

func newWeb(tls bool) *web {
	w := &web{}
	handler := http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.hits = append(w.hits, r.Method+" "+r.URL.Path)
		w.mu.Unlock()
		fmt.Fprintf(out, "%s %s %d\n", r.Method, r.URL.Path, len(body))
	})
	if tls {
		w.Server = httptest.NewTLSServer(handler)
	} else {
		w.Server = httptest.NewServer(handler)
	}
	w.port = w.URL[strings.LastIndex(w.URL, ":"):]
	return w
}

func (w *web) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.hits)
}

func (w *web) host() string { return "localhost" + w.port }
