// Package daemon is the background service: it holds the files of one
// installation for its life, joins scheduler, runner and store, and answers on
// the control socket.
//
// The socket carries no authority to change jobs: what adds authority is a
// signed op, and everything else only reads or reduces. Rights follow the uid
// that the kernel gives for the peer at connect, and nothing that a client says
// about itself. Of the environment the service reads what systemd sets for it,
// and nothing picks a folder, a backend or a mode. Only the command line and the
// end-to-end tests import it.
package daemon
