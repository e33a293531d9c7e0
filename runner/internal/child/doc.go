// Package child holds what the processes have in common that the service starts
// of its own program with the rights of a job's account: the one that opens
// paths, the supervisor and the witness.
//
// Each function takes something away from its own process, or makes the socket
// to such a process; none gives a right. Only packages below runner import it.
package child
