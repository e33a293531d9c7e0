package runnertest

import (
	"fmt"
	"runtime"

	"github.com/sbxcron/sbxcron/jobspec/record"
)

// ordinaryCases say that programs which ask for nothing are not denied.
func ordinaryCases() []Case {
	return []Case{{"ordinary programs are not denied", false, ordinaryPrograms}}
}

// ordinary are programs in everyday use, each with the tool that must be there.
func ordinary() []struct{ tool, body string } {
	return []struct{ tool, body string }{
		{"ls", "ls -l /usr"},
		{"id", "id; whoami; groups; getent passwd"},
		{"getent", "getent ahosts localhost"},
		{"bash", "bash -c 'read x; echo $x' < /dev/null"},
		{"tar", "cd /tmp && mkdir d && echo x > d/f && tar czf t.tgz d && tar tvzf t.tgz && tar xzf t.tgz"},
		{"find", "find /usr/share/misc -ls; find /usr/share/misc -user root; stat /usr; df /tmp; ps ax; uname -a; hostname; date; env; sort /etc/passwd; sed p /etc/passwd; awk 1 /etc/passwd"},
		{"git", "cd /tmp && git init -q r && cd r && git config user.email a@b && git config user.name a && echo x > f && git add f && git commit -qm m && git log && git status && git gc -q && git clone -q /tmp/r /tmp/s"},
		{"python3", `python3 -c "
import os, pwd, subprocess, tempfile, json, ssl, threading, multiprocessing.pool, socket, platform, getpass, syslog
pwd.getpwuid(os.getuid()); getpass.getuser(); platform.platform(); socket.gethostname(); syslog.syslog('x')
print(subprocess.run(['id'], capture_output=True).stdout, os.path.expanduser('~root'))
multiprocessing.pool.ThreadPool(2).map(len, ['a'])
with multiprocessing.Pool(2) as p: print(p.map(len, ['a', 'bb']))
"`},
		{"perl", `perl -e 'use Sys::Hostname; print hostname(), (getpwuid($<))[0]; system("id"); open(F, "/etc/passwd"); print <F>;'`},
		{"node", `node -e 'const os=require("os"); console.log(os.userInfo(), os.hostname(), os.cpus().length); require("child_process").execSync("id"); new (require("worker_threads").Worker)("1", {eval: true}); os.networkInterfaces && 0'`},
		{"ssh-keygen", "ssh-keygen -q -t ed25519 -N '' -f /tmp/k && ssh-keygen -l -f /tmp/k && ssh-keygen -Y sign -n x -f /tmp/k /etc/passwd"},
		{"ssh-agent", "ssh-agent -V 2>/dev/null; ssh -V"},
		{"rsync", "mkdir /tmp/a && cp /etc/passwd /tmp/a && rsync -a /tmp/a/ /tmp/b/"},
		{"gcc", "cd /tmp && echo 'int main(){return 0;}' > x.c && gcc -O2 x.c -o x && ./x"},
		{"make", "cd /tmp && printf 'all:\\n\\tid\\n' > Makefile && make -j2"},
		{"curl", "echo data > /tmp/f; curl -s file:///tmp/f; curl --version"},
		{"go", "cd /tmp && mkdir m && cd m && printf 'module m\\ngo 1.21\\n' > go.mod && printf 'package main\\nfunc main(){println(1)}\\n' > m.go && GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-p=1 go vet ./... && GOTOOLCHAIN=local go env"},
		{"java", "java -version"},
		{"sqlite3", "sqlite3 /tmp/db 'create table t(a); insert into t values(1); select * from t'"},
		{"openssl", "openssl rand -hex 8; openssl version -a; openssl genrsa -out /tmp/rsa 1024"},
		{"gpg", "gpg --version; gpg --list-keys"},
		{"mount", "mount; findmnt; lsblk; true"},
		{"apt-get", "apt-get --version; dpkg -l base-files; apt-cache policy base-files"},
		{"vim", "vim --version"},
		{"xargs", "ls /usr | xargs -n1 echo; find /usr/share/misc -name x -exec true {} +; timeout 1 true; nice true; nohup true; setsid true"},
		{"npm", "npm --version"},
		{"unzip", "unzip -v"},
		{"less", "less /etc/passwd; more /etc/passwd; man -k x"},
		{"ip", "ip addr"},
		{"logger", "logger x"},
	}
}

func ordinaryPrograms(l *Lab) error {
	found := 0
	programs := ordinary()
	if runtime.GOARCH == "amd64" { // elsewhere no library but that of C is told apart
		programs = append(programs, struct{ tool, body string }{"python3", "python3 -c 'import uuid; uuid.uuid1()'"})
	}
	for _, p := range programs {
		if _, err := tool(p.tool); err != nil {
			continue
		}
		found++
		r, err := l.run(shell("exec 2>&1\n" + p.body + "\nexit 0"))
		if err != nil {
			return err
		}
		if r.End.Outcome != record.OutcomeSucceeded {
			return fmt.Errorf("%s: ended as %s, %v, with %q; %s", p.tool, r.End.Outcome, r.End.Reasons, denialsOf(r), r.Out)
		}
	}
	if found == 0 {
		return &Missing{"any program of everyday use"}
	}
	return nil
}
