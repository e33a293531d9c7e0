// Package signing says who said so: it checks OpenSSH signatures (SSHSIG,
// PROTOCOL.sshsig) over exact bytes against two trust files.
//
// It promises that a statement.Statement leaves it only when one key of
// allowed_signers, not revoked, valid at the asked time and allowed for the
// signed namespace, signed exactly those bytes. Everything that it accepts,
// stock ssh-keygen -Y verify accepts as well; the reverse does not hold. A
// signature has one accepted binary form, which is what is stored; armor is read
// and written only at the edge.
//
// It refuses: any hash but sha512, any version but 1, bytes in the reserved
// field or after any field, certificates, keys of FIDO tokens, Ed25519 keys of
// small order or in a second encoding, RSA keys of other than 3072 to 8192 bits
// or with an exponent other than 65537, and a trust file with one odd line. The
// zero Algorithms allows Ed25519 only; the zero Trust trusts nobody.
//
// It knows bytes and keys, never jobs, and imports no other room. It contains no
// parser of private keys and no agent client: those are in signing/keysource,
// for the command line alone. Signature bytes never identify anything, for an
// ECDSA signature can be rewritten without its key; the digest of the signed
// bytes does. The rooms that verify (scheduler, store, cmd) may import it.
package signing
