// Package api is what the command line and the service say to each other: the
// documents, the errors and the one interface that both sides of the socket
// implement.
//
// engine.Engine implements Service on the files, client.Client over the unix
// socket; a command does not know which of the two it has. Field names are those
// that scripts count on: fields may be added, never change meaning.
//
// It does nothing but turn errors into documents. Only packages below cmd may
// import it.
package api
