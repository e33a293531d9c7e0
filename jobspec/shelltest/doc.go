// Package shelltest makes shell texts for tests: every construct that starts a
// command, nested and mixed at random, over names that belong to recorders. A
// test runs such a text in a real shell and holds what ran against what was
// read. Only tests may import it.
package shelltest
