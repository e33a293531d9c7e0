package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// source is a server that sends what it is asked for, and closes.
func source(b *testing.B) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				var n int
				if _, err := fmt.Fscanln(c, &n); err != nil {
					return
				}
				block := make([]byte, 64<<10)
				for ; n > 0; n -= len(block) {
					c.Write(block[:min(n, len(block))])
				}
			}()
		}
	}()
	return ln.Addr().String()
}

// through opens a connection to the source, by the proxy or not.
func through(b *testing.B, proxy, addr string) net.Conn {
	if proxy == "" {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		return c
	}
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		b.Fatal(err)
	}
	target := "localhost" + portOf(addr)
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 16), &http.Request{Method: http.MethodConnect})
	if err != nil || resp.StatusCode != 200 {
		b.Fatal(err, resp)
	}
	return c
}

func serveBench(b *testing.B, addr string) string {
	s, err := New(Config{Allow: allow("private localhost" + portOf(addr))}, Options{Resolver: &zone{names: map[string][]string{"localhost": {"127.0.0.1"}}}})
	if err != nil {
		b.Fatal(err)
	}
	s.budget.hosts = map[string]int64{"localhost" + portOf(addr): -1 << 40}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go s.Serve(ln)
	b.Cleanup(s.Close)
	return ln.Addr().String()
}

// Bytes moved through a tunnel, in turns with as many moved without one.
func BenchmarkBytes(b *testing.B) {
	const size = 64 << 20
	addr := source(b)
	proxy := serveBench(b, addr)
	var took [2]time.Duration
	for b.Loop() {
		for i, via := range []string{"", proxy} {
			c := through(b, via, addr)
			began := time.Now()
			fmt.Fprintln(c, size)
			if n, err := io.CopyBuffer(io.Discard, onlyReader{c}, make([]byte, 64<<10)); err != nil || n < size {
				b.Fatal(n, err)
			}
			took[i] += time.Since(began)
			c.Close()
		}
	}
	mb := float64(size) * float64(b.N) / 1e6
	b.ReportMetric(mb/took[0].Seconds(), "direct-MB/s")
	b.ReportMetric(mb/took[1].Seconds(), "proxied-MB/s")
}

// One connection and one byte, in turns with and without the proxy.
func BenchmarkConnections(b *testing.B) {
	addr := source(b)
	proxy := serveBench(b, addr)
	var took [2]time.Duration
	for b.Loop() {
		for i, via := range []string{"", proxy} {
			began := time.Now()
			c := through(b, via, addr)
			fmt.Fprintln(c, 1)
			if _, err := io.ReadAll(c); err != nil {
				b.Fatal(err)
			}
			took[i] += time.Since(began)
			c.Close()
		}
	}
	b.ReportMetric(took[0].Seconds()*1000/float64(b.N), "direct-ms")
	b.ReportMetric(took[1].Seconds()*1000/float64(b.N), "proxied-ms")
}
