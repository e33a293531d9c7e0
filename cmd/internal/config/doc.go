// Package config finds an installation and reads what an owner or root wrote
// into CONF: the trust files, the policy and the default key.
//
// Every file is opened without following links and refused unless owner, mode
// and all parents are right. Nothing is cached that could hide a change, and a
// file that is not right is an error: an older good copy never stays in force.
// Only packages below cmd may import it.
package config
