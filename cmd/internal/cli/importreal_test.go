package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/crontab"
	"github.com/sbxcron/sbxcron/jobspec"
)

// shipped are lines of the tables that packages of Debian 12 install below
// /etc/cron.d, as they are there. A line of root is refused, as no job is root; with
// another account in its place it must be right.
var shipped = []struct {
	pkg, line string
	name      string // what the job is called; "" for any
}{
	{"amavisd-new", "18 */3\t* * *\tamavis\ttest -e /usr/sbin/amavisd-new-cronjob && /usr/sbin/amavisd-new-cronjob sa-sync", "amavisd-new-cronjob"},
	{"anacron", "30 7-23 * * *   root\t[ -x /etc/init.d/anacron ] && if [ ! -d /run/systemd/system ]; then /usr/sbin/invoke-rc.d anacron start >/dev/null; fi", "invoke-rc.d"},
	{"atop", `0 0 * * * root [ -d "/run/systemd/system" ] || /usr/share/atop/atop.daily&`, "atop.daily"},
	{"awstats", "*/10 * * * * www-data [ -x /usr/share/awstats/tools/update.sh ] && /usr/share/awstats/tools/update.sh", "update"},
	{"cacti", "*/5 * * * * www-data php /usr/share/cacti/site/poller.php 2>&1 >/dev/null | if [ -f /usr/bin/ts ] ; then ts ; else tee ; fi >> /var/log/cacti/poller-error.log", "php"},
	{"certbot", `0 */12 * * * root test -x /usr/bin/certbot -a \! -d /run/systemd/system && perl -e 'sleep int(rand(43200))' && certbot -q renew --no-random-sleep-on-renew`, "perl"},
	{"cron-apt", "0 4\t* * *\troot\ttest -x /usr/sbin/cron-apt && /usr/sbin/cron-apt", "cron-apt"},
	{"dma", "*/5 *\t* * *\troot\t[ -x /usr/sbin/dma ] && /usr/sbin/dma -q", "dma"},
	{"e2fsprogs", "30 3 * * 0 root test -e /run/systemd/system || SERVICE_MODE=1 /usr/lib/x86_64-linux-gnu/e2fsprogs/e2scrub_all_cron", "e2scrub_all_cron"},
	{"inn2", "2 3\t* * *\tnews\t[ -x /usr/sbin/ctlinnd ] && ctlinnd -t 300 -s reload incoming.conf \"flush cache\"", "ctlinnd"},
	{"leafnode", "8 * * * *  news if [ -x /etc/news/leafnode/do-fetch-news ]; then /etc/news/leafnode/do-fetch-news; fi", "do-fetch-news"},
	{"logcheck", "2 * * * *       logcheck    if [ -x /usr/sbin/logcheck ]; then nice -n10 /usr/sbin/logcheck; fi", "logcheck"},
	{"mailman3", "0 12 * * *  list\tif [ -x /usr/bin/mailman ]; then /usr/bin/mailman digests --periodic; fi", "mailman"},
	{"mdadm", `57 0 * * 0 root if [ -x /usr/share/mdadm/checkarray ] && [ $(date +\%d) -le 7 ]; then /usr/share/mdadm/checkarray --cron --all --idle --quiet; fi`, ""},
	{"mlmmj", "0 */2 * * * root /usr/bin/test -x /usr/bin/mlmmj-maintd && /usr/bin/mlmmj-maintd -F -d /var/spool/mlmmj", "mlmmj-maintd"},
	{"munin", "14 10 * * *     munin if [ -x /usr/share/munin/munin-limits ]; then /usr/share/munin/munin-limits --force --contact nagios --contact old-nagios; fi", "munin-limits"},
	{"munin-node", "*/5 * * * *\troot if [ -x /etc/munin/plugins/apt_all ]; then /etc/munin/plugins/apt_all update 7200 12 >/dev/null; elif [ -x /etc/munin/plugins/apt ]; then /etc/munin/plugins/apt update 7200 12 >/dev/null; fi", "apt_all"},
	{"ntpsec", "25 6     * * * root if [ ! -d /run/systemd/system ] && [ -x /usr/libexec/ntpsec/rotate-stats ] ; then /usr/libexec/ntpsec/rotate-stats ; fi", "rotate-stats"},
	{"php-common", "09,39 *     * * *     root   [ -x /usr/lib/php/sessionclean ] && if [ ! -d /run/systemd/system ]; then /usr/lib/php/sessionclean; fi", "sessionclean"},
	{"roundcube-core", "5,35 * * * * www-data test -d /run/systemd/system || /usr/share/roundcube/bin/gc.sh", "gc"},
	{"sysstat", "5-55/10 * * * * root command -v debian-sa1 > /dev/null && debian-sa1 1 1", "debian-sa1"},
	{"tiger", `0 * * * *      root    test -x /usr/sbin/tigercron && { [ -r "$DEFAULT" ] && . "$DEFAULT" ; nice -n$NICETIGER /usr/sbin/tigercron -q ; }`, ""},
}

func TestLinesThatPackagesShipAreTakenOverAsTheyAre(t *testing.T) {
	for _, c := range shipped {
		fields := strings.Fields(c.line)
		account := fields[5]
		if account == "root" {
			if i := importOf(t, c.line+"\n", "--system"); i.status != 3 || len(i.items) != 1 || i.items[0].Code != string(jobspec.CodeRunAsForbidden) || i.items[0].Hint == "" {
				t.Errorf("%s: as root: exit %d, %+v", c.pkg, i.status, i.items)
			}
		}
		line := strings.Replace(c.line, "root", "daemon", 1)
		if account != "root" {
			line = c.line
		}
		i := importOf(t, line+"\n", "--system", "--timezone", "UTC")
		if i.status != 0 || len(i.items) != 1 {
			t.Errorf("%s: exit %d, %+v", c.pkg, i.status, i.items)
			continue
		}
		d := i.drafts[string(i.items[0].Name)]
		_, command, _ := strings.Cut(c.line, account)
		body := strings.TrimLeft(strings.ReplaceAll(command, `\%`, "%"), " \t") + "\n"
		if d.Script.Body != body || d.Script.Interpreter != "/bin/sh" || d.Cron != strings.Join(fields[:5], " ") || d.RunAs != cmp.Or(map[string]string{"root": "daemon"}[account], account) {
			t.Errorf("%s: %+v\nwant %q", c.pkg, d, body)
		}
		if c.name != "" && string(d.Name) != c.name {
			t.Errorf("%s: it is called %s, want %s", c.pkg, d.Name, c.name)
		}
	}
	i := importOf(t, "MAILTO=root\nPATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin\n@reboot         logcheck    if [ -x /usr/sbin/logcheck ]; then nice -n10 /usr/sbin/logcheck -R; fi\n*/5 * * * *     munin if [ -x /usr/bin/munin-cron ]; then /usr/bin/munin-cron; fi\n", "--system")
	if d := i.drafts["munin-cron"]; i.status != 3 || len(i.items) != 3 || i.items[0].Code != string(jobspec.CodeEnvForbidden) || i.items[1].Code != crontab.CodeAtReboot || d == nil || len(d.Notify) == 0 {
		t.Errorf("exit %d, %+v", i.status, i.items)
	}
}

// What other programs that read crontabs get wrong, by the number of the case.
func TestCasesOfCrontabs(t *testing.T) {
	job := func(i imported, name string) *jobspec.Draft {
		t.Helper()
		if i.drafts[name] == nil {
			t.Fatalf("no job %s: exit %d, %+v\n%s", name, i.status, i.items, i.err.String())
		}
		return i.drafts[name]
	}
	t.Run("M2 the variables in force at its line", func(t *testing.T) {
		i := importOf(t, "SHELL=/bin/bash\nFOO = \"a b\"\nMAILTO=\"\"\n0 1 * * * /bin/a $FOO\nHOME=/srv\nPATH=/opt/bin\nSHELL=/bin/sh\nFOO=c\nMAILTO=ops\n0 1 * * * /bin/b $FOO\n")
		a, b := job(i, "a"), job(i, "b")
		if a.Script.Interpreter != "/bin/bash" || a.Env["FOO"] != "a b" || a.Notify != nil || b.Script.Interpreter != "/bin/sh" || b.Env["FOO"] != "c" || b.Notify == nil {
			t.Errorf("%+v\n%+v", a, b)
		}
		if len(i.items) != 4 || i.items[1].Line != 5 || i.items[2].Line != 6 || i.items[1].Code != string(jobspec.CodeEnvForbidden) {
			t.Errorf("%+v", i.items)
		}
	})
	t.Run("M3 a zone by line", func(t *testing.T) {
		i := importOf(t, "0 1 * * * /bin/none\nCRON_TZ=UTC\n0 1 * * * /bin/a\nCRON_TZ=Asia/Tokyo\n0 1 * * * /bin/b\n")
		if job(i, "none").Timezone != "Europe/Berlin" || job(i, "a").Timezone != "UTC" || job(i, "b").Timezone != "Asia/Tokyo" {
			t.Errorf("%+v", i.drafts)
		}
	})
	t.Run("M5 what an editor of Windows leaves", func(t *testing.T) {
		i := importOf(t, "\ufeffFOO=x\r\n0 1 * * * /bin/a b\r\n")
		if d := job(i, "a"); d.Env["FOO"] != "x" || d.Command[1] != "b" || strings.Count(i.err.String(), "note: ") != 2 {
			t.Errorf("%+v\n%s", d, i.err.String())
		}
	})
	t.Run("M6 the percent sign", func(t *testing.T) {
		i := importOf(t, `0 1 * * * /bin/a +\%F`+"\n"+`0 1 * * * /bin/b "x%y"%z`+"\n")
		if a, b := job(i, "a"), job(i, "b"); a.Command[1] != "+%F" || a.Stdin != "" || b.Script.Body != "/bin/b \"x\n" || b.Stdin != "y\"\nz\n" {
			t.Errorf("%+v\n%+v", a, b)
		}
	})
	t.Run("M8 limits", func(t *testing.T) {
		begin := time.Now()
		for what, text := range map[string]string{"100000 lines": strings.Repeat("0 1 * * * /bin/a\n", 100_000), "a line of 10 MB": "0 1 * * * /bin/a " + strings.Repeat("x", 10<<20), "an endless comment": "# " + strings.Repeat("x", 10<<20)} {
			if i := importOf(t, text); i.status != 65 || i.errorDoc().Help == "" || isThere(i.out) {
				t.Errorf("%s: exit %d", what, i.status)
			}
		}
		if i := importOf(t, "@daily /bin/a\n0 1 * * * /bin/b "+strings.Repeat("x", 200<<10)+"\n"); i.status != 3 || i.items[1].Code != crontab.CodeTooLong || job(i, "a") == nil {
			t.Errorf("a line of 200 KB: %+v", i.items)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("it took %s", took)
		}
	})
	t.Run("M9 its digest stands in each file", func(t *testing.T) {
		text := "@daily /bin/a\n@daily /bin/b\n"
		i := importOf(t, text)
		for _, item := range i.items {
			if raw := mustRead(t, item.File); !strings.Contains(raw, jobspec.DigestOf([]byte(text)).String()) {
				t.Errorf("%s:\n%s", item.File, raw)
			}
		}
		if !bytes.Contains(i.err.Bytes(), []byte(jobspec.DigestOf([]byte(text)).String())) {
			t.Error(i.err.String())
		}
	})
}

func TestARandomDelayBecomesAJitterWhereItMayBeOne(t *testing.T) {
	for minutes, want := range map[string]time.Duration{"30": 30 * time.Minute, "0": 0, "": 0, "5000": 0, "x": 0} {
		i := importOf(t, fmt.Sprintf("RANDOM_DELAY=%s\n@daily /bin/a\n", minutes))
		if d := i.drafts["a"]; i.status != 0 || d == nil || d.Jitter != want {
			t.Errorf("%q: exit %d, %+v", minutes, i.status, d)
		}
	}
}
