package runnertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// programCases run real programs at their own path.
func programCases() []Case {
	return []Case{
		{"awk counts", false, awk},
		{"gcc finds its parts", false, gcc},
		{"go finds its root", false, goEnv},
		{"java finds its runtime", false, java},
		{"npm finds its modules", false, npm},
		{"python of a venv imports its own package", false, venv},
		{"tar packs a workspace", false, tar},
	}
}

// tool finds a program of the system itself: one below a person's home is not
// part of what a job sees.
func tool(name string) (string, error) {
	for _, dir := range []string{"/usr/local/go/bin", "/usr/local/bin", "/usr/bin", "/bin"} {
		if path := filepath.Join(dir, name); exec.Command("test", "-x", path).Run() == nil {
			return path, nil
		}
	}
	return "", &Missing{name}
}

func (l *Lab) tool(name string, args ...string) (Job, error) {
	path, err := tool(name)
	return command(append([]string{path}, args...)...), err
}

// contains runs a tool and wants a word in its output.
func (l *Lab) contains(word string, j Job, err error) error {
	if err != nil {
		return err
	}
	j.limits = func(x *jobspec.Limits) { x.OpenFiles = 1024 }
	r, err := l.run(j)
	if err != nil {
		return err
	}
	if !r.End.Exited || r.End.ExitCode != 0 || !strings.Contains(r.Out+r.Err, word) {
		return fmt.Errorf("%q is not in the output: %+v\n%s%s", word, r.End, r.Out, r.Err)
	}
	return nil
}

func awk(l *Lab) error {
	j, err := l.tool("awk", "{ n += $1 } END { print \"sum\", n }")
	j.stdin = "1\n2\n39\n"
	return l.contains("sum 42", j, err)
}

func gcc(l *Lab) error {
	cwd := l.folder("ws")
	l.file(cwd+"/t.c", "#include <stdio.h>\nint main(void) { puts(\"compiled\"); return 0; }\n", 0o644)
	j, err := l.tool("gcc", "-o", "t", "t.c")
	if err := l.contains("", j.in(jobspec.Workspace, cwd), err); err != nil {
		return err
	}
	return l.contains("compiled", command(cwd+"/t").in(jobspec.ReadOnly, cwd), nil)
}

func goEnv(l *Lab) error {
	path, err := tool("go")
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	return l.contains(filepath.Dir(filepath.Dir(real))+"\n", command(path, "env", "GOROOT"), nil)
}

func java(l *Lab) error {
	j, err := l.tool("java", "-Xmx64m", "-version")
	return l.contains("Runtime", j, err)
}

func npm(l *Lab) error {
	j, err := l.tool("npm", "--version")
	return l.contains(".", j, err)
}

func venv(l *Lab) error {
	python, err := tool("python3")
	if err != nil {
		return err
	}
	cwd := l.folder("ws")
	if out, err := exec.Command(python, "-m", "venv", "--without-pip", cwd+"/env").CombinedOutput(); err != nil {
		return &Missing{"python3 with venv (" + strings.TrimSpace(string(out)) + ")"}
	}
	site, err := filepath.Glob(cwd + "/env/lib/python3*/site-packages")
	if err != nil || len(site) != 1 {
		return fmt.Errorf("site-packages: %v %w", site, err)
	}
	must(os.WriteFile(site[0]+"/ours.py", []byte("word = 'imported'\n"), 0o644))
	j := command(python, "-c", "import ours; print(ours.word)").in(jobspec.ReadOnly, cwd)
	j.typed = cwd + "/env/bin/python"
	return l.contains("imported", j, nil)
}

func tar(l *Lab) error {
	cwd := l.folder("ws")
	l.folder("ws/data")
	l.file(cwd+"/data/a", "a", 0o644)
	j, err := l.tool("tar", "-czf", "data.tar.gz", "data")
	if err := l.contains("", j.in(jobspec.Workspace, cwd), err); err != nil {
		return err
	}
	j, err = l.tool("tar", "-tzf", "data.tar.gz")
	return l.contains("data/a", j.in(jobspec.ReadOnly, cwd), err)
}
