package daemon

import (
	"fmt"
	"net"
	"time"
)

// syslogPriority is facility authpriv, severity notice (RFC 5424, 6.2.1).
const syslogPriority = 10<<3 | 5

// syslogTime bounds one message: a log whose queue is full must not hold us up.
const syslogTime = time.Second

// tellSyslog sends one line to the log of the system, which journald and every
// syslogd read from a datagram socket.
func tellSyslog(socket, line string) error {
	conn, err := net.DialTimeout("unixgram", socket, syslogTime)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(syslogTime)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(conn, "<%d>sbxcron: %s", syslogPriority, line)
	return err
}
