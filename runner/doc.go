// Package runner confines a job and runs it.
//
// It promises that the bytes that were hashed run, inside the sandbox that the
// plan describes, after a probe inside that sandbox has measured it. What
// cannot be built, or does not hold, is a refusal: there is no way to start a
// process without it. All that can fail happens in Prepare; Release is one
// write.
//
// runner may import jobspec and signing/statement. Its backends (runner/bwrap)
// never import each other. runner/stub imports the standard library only.
package runner
