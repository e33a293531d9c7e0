// Package mask takes the values of credentials out of what a job prints, before
// anybody counts, hashes or keeps it.
//
// It promises that none of these forms of a value passes, however the bytes are
// cut into pieces: the value itself; each of its lines; in a line the password of
// a URL, of .pgpass, of .netrc, and what a name like token stands before; base64 in both alphabets
// at every alignment, wrapped or not, with or without padding; hexadecimal in
// either case, with separators or not; percent-encoding of any part of it, as in
// a URL or a form; backslash escapes as JSON, C and shells write them. A value
// that the end of the stream cuts off is taken out from its sixth byte on. What
// is taken out is replaced by [credential NAME].
//
// It does so by decoding the stream in all these ways at once and looking for
// the values in each: one automaton (Aho and Corasick) over the values, a few
// states a stream. The time is linear in the stream whatever the job prints, and
// what is held back is bounded by the longest value in its longest form.
//
// It cannot know a value that was changed: reversed, compressed, encrypted,
// encoded twice, in UTF-16, or of which only a part is printed. No library that
// was found does this in a stream, with memory that can be cleared.
//
// Only the standard library is imported. runner uses it.
package mask
