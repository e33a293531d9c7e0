// Package client is api.Service over the service's unix socket: HTTP/1.1 with
// JSON bodies, one request on each connection, a deadline on each request.
//
// It promises that it talks to nobody but a process of root or of the expected
// uid, which the kernel names (SO_PEERCRED, unix(7)), before the first byte is
// sent. It refuses every other server, answers larger than 64 MiB and answers
// that are not what the api package says. A socket that is absent, or that
// nobody listens on, is the error service_down.
//
// It checks no signature and no chain: what grants authority is checked by the
// service, and the owner's own tool compares the head with the pin. Only
// packages below cmd may import it.
package client
