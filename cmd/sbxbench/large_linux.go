package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// large compares launches of a program of 300 MB, and of a job whose folder holds
// 2,000 files and 1 GB, with the same without.
func large(of size) ([]Item, error) {
	pairs := of.pairs
	s, err := newSite()
	if err != nil {
		return nil, err
	}
	defer s.close()
	big, full, empty := filepath.Join(s.dir, "big"), filepath.Join(s.dir, "full"), filepath.Join(s.dir, "empty")
	if err := s.fillLarge(big, full, empty); err != nil {
		return nil, err
	}
	for name, args := range map[string][]string{
		"big":   {"--tier", "scratch", "--", big},
		"full":  {"--tier", s.folderTier(), "--cwd", full, "--", s.payload()},
		"empty": {"--tier", s.folderTier(), "--cwd", empty, "--", s.payload()},
	} {
		if err := s.add(name, append([]string{"--schedule", "0 0 1 1 *"}, args...)...); err != nil {
			return nil, err
		}
	}
	few := max(1, pairs/15)
	plan, done, err := s.plan("big")
	if err != nil {
		return nil, err
	}
	defer done()
	ours, peer, err := pairing(few, func() (float64, error) { return s.launch("big") }, func() (float64, error) { return s.bare(plan) })
	if err != nil {
		return nil, err
	}
	items := []Item{compare("launch.300mb", "ms", "bwrap with the plan's options", ours, peer)}
	ours, peer, err = pairing(pairs, func() (float64, error) { return s.launch("full") }, func() (float64, error) { return s.launch("empty") })
	if err != nil {
		return nil, err
	}
	return append(items, compare("launch.folder", "ms", "the same with an empty folder", ours, peer)), nil
}

// folderTier is workspace where the job's account owns the folder.
func (s *site) folderTier() string {
	if s.conf.System() {
		return "read-only"
	}
	return "workspace"
}

func (s *site) fillLarge(big, full, empty string) error {
	code, err := payload()
	if err != nil {
		return err
	}
	if err := os.WriteFile(big, code, 0o755); err != nil {
		return err
	}
	noise := make([]byte, 1<<20)
	f, err := os.OpenFile(big, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for range 300 {
		if _, err := f.Write(noise); err != nil {
			return err
		}
	}
	if err := os.Mkdir(empty, 0o755); err != nil {
		return err
	}
	for i := range 2000 {
		dir := filepath.Join(full, fmt.Sprintf("d%02d", i%50))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%04d", i)), noise[:512<<10], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// podmanWays are tried in turn, and the first that runs is taken: as podman is set
// up, and with what a machine without systemd and with both versions of cgroups
// needs.
var podmanWays = [][]string{nil, {"--runtime", "runc", "--cgroup-manager", "cgroupfs"}}

// podman compares launches with podman's, with bounds that it can set where it
// may not raise any. Where it is not there, or cannot run,
// the row says so.
func podman(of size) ([]Item, error) {
	pairs := of.pairs
	const name, by = "launch.podman", "podman run of the payload"
	absent := func(why string) ([]Item, error) {
		return []Item{{Name: name, Unit: "ms", PeerName: by, Absent: why}}, nil
	}
	program, err := exec.LookPath("podman")
	if err != nil {
		return absent("podman is not installed")
	}
	s, err := newSite()
	if err != nil {
		return nil, err
	}
	defer s.close()
	rootfs := filepath.Join(s.dir, "rootfs")
	code, err := payload()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(rootfs, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(rootfs, "payload"), code, 0o755); err != nil {
		return nil, err
	}
	var way []string
	run := func() (float64, error) {
		begun, err := monotonic()
		if err != nil {
			return 0, err
		}
		wrote, err := exec.Command(program, append(slices.Clone(way), "run", "--rm", "--network", "none",
			"--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--rootfs", rootfs, "/payload")...).Output()
		if err != nil {
			return 0, err
		}
		return since(begun, wrote)
	}
	for _, way = range podmanWays {
		if _, err = run(); err == nil {
			break
		}
	}
	if err != nil {
		return absent(fmt.Sprintf("podman cannot run here: %v", err))
	}
	ours, peer, err := pairing(max(1, pairs/10), func() (float64, error) { return s.launch(launchJob) }, run)
	if err != nil {
		return nil, err
	}
	return []Item{compare(name, "ms", by, ours, peer)}, nil
}
