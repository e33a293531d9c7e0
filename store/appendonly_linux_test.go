package store_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// Receipts with the flag go on, and nobody takes one back.
func TestReceiptsWithTheFlagAreOnlyEverAppendedTo(t *testing.T) {
	h := newLogHost(t)
	err := store.ProtectReceipts(h.d)
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOTTY), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL):
		t.Skipf("needs CAP_LINUX_IMMUTABLE and a file system with the flag: %v", err)
	}
	must(t, err)
	if _, err := exec.LookPath("chattr"); err != nil {
		t.Error("the receipts stay behind: chattr is missing")
	}
	t.Cleanup(func() { must(t, exec.Command("chattr", "-a", h.d.Receipts()).Run()) })
	must(t, store.ProtectReceipts(h.d)) // twice is once
	if kept, err := store.ReceiptsProtected(h.d); err != nil || !kept {
		t.Errorf("protected: %v, %v", kept, err)
	}
	l, g, done := h.open()
	for n := range 3 {
		_, err := l.Append(storetest.Leaf(record.Boot, storetest.Epoch()))
		must(t, err)
		h.checkpoint(g, time.Duration(n)*day)
	}
	done()
	if a, codes := h.audit(); len(codes) != 0 || a.Proven != 3 {
		t.Errorf("%+v", a)
	}
	for what, err := range map[string]error{
		"truncate": os.Truncate(h.d.Receipts(), 0),
		"remove":   os.Remove(h.d.Receipts()),
		"rename":   os.Rename(h.d.Receipts(), h.d.Receipts()+".old"),
		"write":    os.WriteFile(h.d.Receipts(), []byte("x"), 0o600),
	} {
		if !errors.Is(err, unix.EPERM) {
			t.Errorf("%s: %v, want EPERM", what, err)
		}
	}
	must(t, os.Remove(h.d.Checkpoint()))
	must(t, os.Remove(h.d.Epochs()))
	if _, codes := h.audit(); len(codes) == 0 {
		t.Error("every other checkpoint is gone, and the receipts tell nothing")
	}
}
