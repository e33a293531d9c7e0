// Package machine reads what the table of a stub depends on beside its plan. Only
// backends import it.
package machine
