package pin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// home is the folder of one account of the passwd file.
type home struct {
	user, dir string
}

// readHomes lists every home of the passwd file (passwd(5)) once. Accounts that
// share one are named together by the first.
func readHomes(passwd string) ([]home, error) {
	if passwd == "" {
		passwd = "/etc/passwd"
	}
	raw, err := os.ReadFile(passwd)
	if err != nil {
		return nil, fmt.Errorf("list homes: %w", err)
	}
	seen := map[string]bool{}
	var all []home
	for line := range strings.Lines(string(raw)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(f) < 7 || !filepath.IsAbs(f[5]) {
			continue
		}
		dir := filepath.Clean(f[5])
		if !seen[dir] {
			seen[dir] = true
			all = append(all, home{user: f[0], dir: dir})
		}
	}
	return all, nil
}
