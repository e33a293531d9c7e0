// Package keyfile creates and reads files that hold a secret.
//
// It promises that a new file is never written over an old one, is readable by
// its owner alone from its first byte on and is on the disk when Create
// returns. It refuses to read a secret that group or others can reach and, where
// that is asked, one that belongs to somebody else. It looks at no content.
// Packages below signing may import it.
package keyfile
