package send

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// message is the notice as mail with lines that end in CR LF. Every part is
// printable ASCII without a line end: Clean and the reader of notify.toml see to it.
func message(t Task) string {
	n := t.Notice
	sum := sha256.Sum256([]byte(n.ID + n.HostID))
	_, domain, _ := strings.Cut(t.Channel.From, "@")
	var b strings.Builder
	for _, h := range []string{
		"From: sbxcron <" + t.Channel.From + ">",
		"To: " + strings.Join(t.Channel.To, ",\r\n "),
		"Subject: " + fold(n.Subject()),
		"Date: " + n.Time.UTC().Format(time.RFC1123Z),
		fmt.Sprintf("Message-ID: <%s@%s>", hex.EncodeToString(sum[:16]), domain),
		"MIME-Version: 1.0",
		"Content-Type: text/plain; charset=us-ascii",
		"Content-Transfer-Encoding: 7bit",
		"Auto-Submitted: auto-generated",
		"X-Sbxcron-Id: " + n.ID,
	} {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("\r\n" + strings.ReplaceAll(n.Body(), "\n", "\r\n"))
	return b.String()
}

// fold bounds a subject; a header line may have 998 bytes (RFC 5322).
func fold(s string) string { return s[:min(len(s), 300)] }
