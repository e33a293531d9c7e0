package egress

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// writeResponse sends a response on, framed anew.
func writeResponse(c net.Conn, resp *http.Response, h *head, again bool) error {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return fmt.Errorf("the server switches protocols without having been asked")
	}
	gone := hopByHop()
	for _, v := range resp.Header.Values("Connection") {
		for word := range strings.SplitSeq(v, ",") {
			gone = append(gone, strings.TrimSpace(word))
		}
	}
	for _, name := range gone {
		resp.Header.Del(name)
	}
	resp.Proto, resp.ProtoMajor, resp.ProtoMinor = "HTTP/1.1", 1, 1
	resp.TransferEncoding, resp.Trailer = nil, nil
	if resp.ContentLength < 0 && again {
		resp.TransferEncoding = []string{"chunked"}
	}
	resp.Close = !again
	w := bufio.NewWriter(c)
	if err := resp.Write(w); err != nil {
		return err
	}
	return w.Flush()
}

// maxRedirects bounds how many hosts are remembered that responses led to.
const maxRedirects = 64

// noteRedirect remembers where a response leads, so that a "no" to that host can
// be told from one to a host that the job chose.
func (s *Server) noteRedirect(resp *http.Response, from *url.URL) {
	if resp.StatusCode/100 != 3 || resp.Header.Get("Location") == "" {
		return
	}
	to, err := from.Parse(resp.Header.Get("Location"))
	if err != nil {
		return
	}
	port := uint16(httpPort)
	if to.Scheme == "https" {
		port = 443
	}
	t, err := ParseAuthority(to.Host, port)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.redirects) < maxRedirects {
		s.redirects[t.String()] = true
	}
}
