package jobspec

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// JobPlace stands for the job's name in the URL of a ping.
const JobPlace = "{job}"

// CheckNoticeURL says what is wrong with the URL of a channel. Secrets and facts
// about jobs go there, so it is https, but for a server on this machine.
func CheckNoticeURL(kind, text string) error {
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return errors.New("it holds a blank, or what is no printable ASCII")
	}
	u, err := url.Parse(strings.ReplaceAll(text, JobPlace, "job"))
	switch {
	case err != nil:
		return errors.New("it is no URL")
	case u.Host == "" || u.Hostname() == "":
		return errors.New("it names no host")
	case u.User != nil || u.Fragment != "":
		return errors.New("it holds a name, a password or a fragment; secrets are credentials")
	case u.Scheme != "https" && !(u.Scheme == "http" && OnThisMachine(u.Hostname())):
		return errors.New("it is not https, which only a server on this machine need not be")
	case kind == ChannelPing && (u.RawQuery != "" || u.ForceQuery):
		return errors.New("a ping has no query: /start, /fail and the status are added to its path")
	case kind == ChannelNtfy && strings.Trim(u.Path, "/") == "":
		return errors.New("it names no topic")
	}
	if before, _, found := strings.Cut(text, JobPlace); found && (kind != ChannelPing || strings.Count(before, "/") < 3) {
		return errors.New(JobPlace + " has a place in the path of a ping only")
	}
	return nil
}

// CheckMailServer wants host:port, and without TLS a host that is this machine.
func CheckMailServer(text string, bare bool) error {
	host, port, err := net.SplitHostPort(text)
	n, perr := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || perr != nil || n == 0 || host == "" || strings.ContainsFunc(host, func(c rune) bool { return c <= ' ' || c > '~' }):
		return fmt.Errorf("%s is not host:port", Quote(text))
	case bare && !OnThisMachine(host):
		return errors.New("tls = \"none\" is for a server on this machine")
	}
	return nil
}

// OnThisMachine reports whether a host is loopback by its very spelling.
func OnThisMachine(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}
