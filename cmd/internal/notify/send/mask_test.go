package send

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Many servers say what they were asked. That stands in the ledger and in the log,
// where a secret could never be taken out again.
func TestNoSecretComesBackFromAServerThatSaysWhatItWasAsked(t *testing.T) {
	const secret = `tok3n\of-the.channel/1`
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, "%sCannot POST %s %s", r.URL.Query().Get("fill"), r.URL.Path, r.Header.Get("Authorization"))
	}))
	defer echo.Close()
	for name, task := range map[string]Task{
		"token": {Channel: jobspec.Channel{Kind: jobspec.ChannelWebhook, URL: echo.URL, Token: "s"}, Secrets: map[string][]byte{"s": []byte(secret + "\n")}},
		"token that is cut": {Channel: jobspec.Channel{Kind: jobspec.ChannelWebhook, URL: echo.URL + "?fill=" + strings.Repeat("x", MaxSaid-45), Token: "s"},
			Secrets: map[string][]byte{"s": []byte(secret)}},
		"place": {Channel: jobspec.Channel{Kind: jobspec.ChannelPing, Secret: "s"}, Secrets: map[string][]byte{"s": []byte(echo.URL + "/tok3n-of-the-channel/" + jobspec.JobPlace)}},
	} {
		t.Run(name, func(t *testing.T) {
			task.Notice = notice()
			res := Deliver(t.Context(), task)
			if res.Class != Refused || strings.Contains(res.Text, "tok3n") || !strings.Contains(res.Text, masked) {
				t.Errorf("%v %q", res.Class, res.Text)
			}
		})
	}
}

func TestNoPasswordComesBackFromAMailServer(t *testing.T) {
	cert, ca := certificate(t)
	const secret = "s3cr3t-word"
	for _, said := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte("\x00me\x00" + secret))} {
		server := &mailServer{cert: &cert, auth: "PLAIN", rcpt: "550 I saw " + said}
		task := mail(server.start(t))
		task.Channel.TLS, task.Channel.CA, task.Secrets["ca"] = "starttls", "ca", ca
		task.Channel.User, task.Channel.Password, task.Secrets["pw"] = "me", "pw", []byte(secret)
		if res := Deliver(t.Context(), task); res.Class != Refused || res.Text != "550 I saw "+masked {
			t.Errorf("%v %q", res.Class, res.Text)
		}
	}
}
