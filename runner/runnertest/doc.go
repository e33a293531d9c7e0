// Package runnertest is the suite that every backend of the runner passes.
//
// It promises that a backend which passes confines a real job the way the
// design says: each case runs a real program through Prepare, Release and Wait
// and looks at the outcome and at what changed on the host. A case is an error
// or nil, so that a deliberately weak backend can be shown to fail it.
//
// It is for tests of packages below runner; nothing else may import it.
package runnertest
