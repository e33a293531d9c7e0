//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// wordsOfAFolder makes a folder whose repository, files and names hold texts that a
// shell or a version control program would run. Nothing outside the sandbox does.
func wordsOfAFolder(h *house) {
	dir := h.script("p26", "env; true")
	made := filepath.Join(h.dir, "p26-made")
	text := fmt.Sprintf("$(touch %s)`touch %[1]s`; touch %[1]s #", made)
	config := "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch " + made + "\n\tpager = touch " + made + "\n\tsshCommand = touch " + made +
		"\n[user]\n\tname = \"" + text + "\"\n\temail = \"" + text + "\"\n[alias]\n\tstatus = !touch " + made + "\n"
	h.mkdir("p26/.git/hooks")
	h.put(filepath.Join(dir, ".git/HEAD"), "ref: refs/heads/main\n", 0o644)
	h.put(filepath.Join(dir, ".git/config"), config, 0o644)
	for _, name := range []string{".git/hooks/post-checkout", ".git/hooks/pre-commit", ".envrc", ".bashrc", ".profile"} {
		h.put(filepath.Join(dir, name), "#!/bin/sh\ntouch "+made+"\n", 0o755)
	}
	odd := h.put(filepath.Join(dir, "$(touch made)"), text+"\n", 0o644)
	flags := yearly("p26", dir, "workspace", "--file", odd, "--note", text, "--", "./job.sh")
	h.dryRun(flags...)
	h.must(append([]string{"add"}, flags...)...)
	h.must("explain", "p26")
	if says := h.text(h.row("p26", "succeeded", "")); strings.Contains(says, made) {
		h.t.Errorf("the job's environment holds words of the folder: %q", says)
	}
	h.put(filepath.Join(dir, "job.sh"), "#!/bin/sh\ntrue\n", 0o755)
	h.must("rebind", "p26", "--yes")
	h.row("p26", "succeeded", "")
	for _, path := range []string{made, filepath.Join(dir, "made")} {
		if _, err := os.Lstat(path); err == nil {
			h.t.Errorf("%s was made", path)
		}
	}
}

// parseErrorSaysWhere: nobody looks for a missing rule where the file cannot be
// read. The refusal names file, line and column, at add and at the trigger.
func parseErrorSaysWhere(h *house) {
	h.add("p43", h.script("p43", "true"), "workspace", "./job.sh")
	good, err := os.ReadFile(h.dirs().Policy())
	must(h.t, err)
	h.write(h.dirs().Policy(), append(good, "\n[[rules]]\nid = \"r\" oops\n"...))
	line := strings.Count(string(good), "\n") + 3
	where := fmt.Sprintf("policy.toml\": line %d, column 10:", line)
	if e := h.refusesToAdd(jobspec.CodePolicyParse, "p43x", "--schedule", never, "--yes", "--", "/bin/true"); !strings.Contains(e.Message, where) {
		h.t.Errorf("add says %q, which lacks %s", e.Message, where)
	}
	if r := h.row("p43", "refused", jobspec.CodePolicyParse); !strings.Contains(r.Reasons[0].Detail, where) {
		h.t.Errorf("the row says %+v, which lacks %s", r.Reasons, where)
	}
	if r := h.run("policy", "check"); r.code != 3 || !strings.Contains(r.out+r.err, fmt.Sprintf("policy.toml:%d:10:", line)) {
		h.t.Errorf("policy check: exit %d\n%s%s", r.code, r.out, r.err)
	}
	h.permit(nil)
	h.row("p43", "succeeded", "")
}
