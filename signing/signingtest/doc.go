// Package signingtest gives other packages' tests keys, trust files, signatures
// and statements.
//
// It promises that every statement went through the real verifier, so that a
// test can hold nothing that the service could not. Its keys are throw-away.
// Only tests may import it.
package signingtest
