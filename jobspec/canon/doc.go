// Package canon writes and reads the one JSON form that sbxcron signs and
// records: every op, every leaf of the ledger and the pin.
//
// The form is a single JSON object in UTF-8 with the members in the order of
// the Go struct. A field at its zero value is left out, so that absence has one
// meaning. There is no null and no floating-point number; integers lie within
// 2^53; maps go from string to string and are written with sorted ASCII keys;
// strings escape the quote, the backslash and U+0000 to U+001F (as \u00xx) and
// nothing else. Text that is not valid UTF-8 cannot be written.
//
// It promises that Unmarshal accepts exactly the bytes that Marshal makes: what
// was read is written again and compared. Duplicate members, other spellings of
// a name, unknown members, white space and odd escapes are all refused by that
// one comparison.
//
// The encoder is our own because the escapes of encoding/json change between
// releases of Go, and a signature must not. Golden vectors in testdata/vectors
// freeze it. The package imports the standard library only.
package canon
