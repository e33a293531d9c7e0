package daemon

// Syslog is where the log of the system listens, that of journald or of a syslogd.
const Syslog = "/dev/log"
