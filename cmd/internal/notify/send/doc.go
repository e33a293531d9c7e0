// Package send delivers one notice over one channel: SMTP, a sendmail program, a
// webhook, ntfy, a ping. Deliver does the work and is called in a process of its
// own only, the sender: the service never reads what a server says. A Sender is
// the service's end of it.
//
// The sender has no file of the installation, no key and no store; what it is
// told is one task at a time with the secrets of that one channel. As root it has
// a throw-away uid. It has no_new_privs, limits, and where the kernel has Landlock
// nothing to write to and little to read; the process that starts a sendmail
// program lacks the first and the last, because such programs change their group.
// It answers with one frame of a fixed size, of which the service believes a class
// and printable text. It refuses to be root, to follow a redirect, and to talk in
// the clear to another machine.
//
// Only cmd/internal/notify, the command line and mains import it.
package send
