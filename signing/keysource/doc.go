// Package keysource is the owner's side: it finds the key that the owner named
// and signs with it.
//
// It promises to use exactly the key that was named: a private key file, or the
// key of a .pub file or fingerprint inside ssh-agent, never "the first one in
// the agent". What it returns was verified like any foreign signature. It never
// writes over a key.
//
// It refuses private keys that group or others can read, formats other than
// OpenSSH's own, more than 512 rounds of bcrypt, certificates, keys of FIDO
// tokens, and algorithms that the caller did not allow. Passphrases come from
// the callback, never from arguments or the environment.
//
// Only the command line may import it: the service holds no key that can sign an
// op, and its packages use neither a parser of private keys nor an agent client.
package keysource
