package pin

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Ids that no passwd file needs to know.
const (
	jobUID   = 61301
	otherUID = 61302
)

func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: a child with another uid is started")
	}
}

func asUser(t *testing.T) {
	t.Helper()
	if os.Getuid() == 0 {
		t.Skip("needs an ordinary user: root may open everything")
	}
}

// dropped is the account of a job in system mode.
func dropped() Account { return Account{UID: jobUID, GID: jobUID, Drop: true} }

// folder is a temporary folder that every account can enter: t.TempDir lies
// below folders of the test's own.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pin-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	mode(t, dir, 0o755)
	return dir
}

func mode(t *testing.T, path string, m os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, m); err != nil {
		t.Fatal(err)
	}
}

func owner(t *testing.T, path string, uid int) {
	t.Helper()
	if err := os.Lchown(path, uid, uid); err != nil {
		t.Fatal(err)
	}
}

// put writes a file with exactly this mode.
func put(t *testing.T, path, content string, m os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), m); err != nil {
		t.Fatal(err)
	}
	mode(t, path, m)
	return path
}

func link(t *testing.T, to, at string) string {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
	return at
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(stop)
	return ctx
}

func open(t *testing.T, acct Account, o Options, reqs ...Request) *Set {
	t.Helper()
	s, err := tryOpen(soon(t), acct, reqs, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// here stands for the rights of the test itself. Open refuses them to root, so
// tryOpen takes the way behind that check.
func here() Account { return Account{} }

func tryOpen(ctx context.Context, acct Account, reqs []Request, o Options) (*Set, error) {
	if acct.Drop {
		return Open(ctx, acct, reqs, o)
	}
	table, err := readMounts()
	if err != nil {
		return nil, err
	}
	s, err := openAll(ctx, itself{table: table, o: o}, reqs, table, o)
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// accounts are those that this user can open with.
func accounts() []Account {
	if os.Getuid() == 0 {
		return []Account{here(), dropped()}
	}
	return []Account{here()}
}

func bound(role jobspec.Role, path string) Request {
	return Request{Use: jobspec.UseBound, Role: role, Path: path}
}

func script(path string) Request { return bound(jobspec.RoleScript, path) }

// content reads everything that a fresh descriptor gives.
func content(t *testing.T, s *Set, i int) []byte {
	t.Helper()
	f, err := reopen(s.File(i))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// everyUse are the ways in which a spec can name a path.
func everyUse(path string) []Request {
	return []Request{
		bound(jobspec.RoleExecutable, path), bound(jobspec.RoleInterpreter, path),
		bound(jobspec.RoleScript, path), bound(jobspec.RoleFile, path),
		{Use: jobspec.UseCwd, Path: path}, {Use: jobspec.UseRead, Path: path}, {Use: jobspec.UseWrite, Path: path},
	}
}

// located says where a path lies, with the rights of this process. It follows
// symbolic links first: what is looked for is the place, not its name.
func located(path string) (jobspec.Location, error) {
	table, err := readMounts()
	if err != nil {
		return jobspec.Location{}, err
	}
	where, _, err := locate(path, table)
	return where, err
}
