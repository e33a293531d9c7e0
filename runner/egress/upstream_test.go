package egress

import (
	"io"
	"net"
	"testing"
	"time"
)

// An upstream takes its time for a host that does not answer. The end of a run
// does not wait for it: whoever waits would not hear what else the run did.
func TestCloseDoesNotWaitForTheUpstream(t *testing.T) {
	upstream, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.Close()
	asked := make(chan struct{})
	go func() {
		c, err := upstream.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		c.Read(make([]byte, 1))
		close(asked)
		io.Copy(io.Discard, c) // and no answer
	}()
	l := newLab(t, Config{Upstream: "http://up.test" + portOf(upstream.Addr().String()), Allow: allow("slow.test:443")},
		&zone{names: map[string][]string{"up.test": {"127.0.0.1"}}})
	c := l.dial()
	if _, err := io.WriteString(c, "CONNECT slow.test:443 HTTP/1.1\r\nHost: slow.test:443\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-asked
	begin := time.Now()
	l.s.Close()
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}
