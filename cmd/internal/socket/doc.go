// Package socket knows what both ends of the control socket need of the kernel:
// a path of any length, and who is at the other end.
//
// It promises that PeerUID and PeerIsBeside are what the kernel noted and nothing that the
// peer said. It decides nothing; rights are the daemon's, trust in the server is the
// client's. Only those two import it.
package socket
