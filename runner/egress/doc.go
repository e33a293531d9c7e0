// Package egress is the only way from a job's network to the host's.
//
// A job of net proxy has a network namespace of its own with nothing in it but
// loopback. A listening socket made in there is served from outside by this
// package: HTTP CONNECT, HTTP requests in absolute form, and SOCKS5, all on one
// port; and a port of its own for each fixed host of net.forward.
//
// It promises that each request is one decision, made on the name and the port
// by the rules that were signed; that an empty list allows nothing and a denying
// rule wins; that names are resolved here, and that the address which is really
// connected to is judged again in the dialer's control hook, so that a name
// which leads to the machine itself, to its link or to a private network is
// refused unless policy and spec open that very host by name; that what it
// cannot read in exactly one way is refused; and that connections, bytes,
// requests for one host, idle time and the size of heads are bounded.
//
// It does not look into TLS: what an allowed host serves under another name is
// that host's business. It never follows a redirect; the client asks again, and
// that is a new decision.
//
// It is a library without a process: the supervisor of a run calls it. It knows
// jobspec and the standard library, and only packages below runner import it.
package egress
