package jobtoml

type noticeFile struct {
	Default  []string                `toml:"default" doc:"Events that a job whose spec names none is told about; left out: all. An empty list: none." enum:"failed,denied,refused,missed,would_be_refused,expiring,recovered,key_revoked"`
	Always   []string                `toml:"always" doc:"Events that every job is told about, whatever its spec names." enum:"failed,denied,refused,missed,would_be_refused,expiring,recovered,key_revoked"`
	Reminder string                  `toml:"reminder" doc:"Between two notices about the same open problem, at least 1h; default 1d." form:"span"`
	Channel  map[string]channelTable `toml:"channel" doc:"Ways to people and machines, by name."`
}

type channelTable struct {
	Kind        string   `toml:"kind" doc:"How it sends." enum:"smtp,sendmail,webhook,ntfy,ping"`
	Events      []string `toml:"events" doc:"Events that it takes; left out: all." enum:"failed,denied,refused,missed,would_be_refused,expiring,recovered,key_revoked,audit_failed"`
	Principals  []string `toml:"principals" doc:"Whose jobs it is told about; left out: everybody's."`
	Jobs        []string `toml:"jobs" doc:"Jobs that it is told about; left out: all."`
	Host        *bool    `toml:"host" doc:"Takes what is about the whole installation, as a store that was changed; left out: yes, but for a channel with principals or jobs, and never a ping."`
	Details     bool     `toml:"details" doc:"Tells what a reason is about: paths, hosts, rules. A job can make such a name up, and so send it out."`
	OutputLines *int64   `toml:"output_lines" doc:"Last lines of a failed run's masked output to send, at most 100; left out: none."`
	Server      string   `toml:"server" doc:"smtp: host:port."`
	TLS         string   `toml:"tls" doc:"smtp: starttls, the default, implicit, or none, which is for this machine only." enum:"starttls,implicit,none"`
	User        string   `toml:"user" doc:"smtp: name to log in with."`
	Password    string   `toml:"password" doc:"smtp: credential with the password."`
	From        string   `toml:"from" doc:"smtp, sendmail: address of the sender."`
	To          []string `toml:"to" doc:"smtp, sendmail: addresses of the receivers."`
	CA          string   `toml:"ca" doc:"Credential with the PEM certificates that alone are trusted; left out: those of the machine."`
	Command     []string `toml:"command" doc:"sendmail: program by its absolute path, and arguments; it reads the message on standard input."`
	RunAs       string   `toml:"run_as" doc:"sendmail, in system mode: account that the program runs as; left out: a throw-away one."`
	URL         string   `toml:"url" doc:"webhook, ntfy, ping: https, or http on this machine. In that of a ping {job} stands for the job's name."`
	Secret      string   `toml:"secret" doc:"webhook: credential with the key of the signature. ping: credential that holds the URL, in place of url."`
	Token       string   `toml:"token" doc:"webhook, ntfy: credential with a bearer token."`
}
