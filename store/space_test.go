package store

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

func TestAFullDiskIsNoDefectOfOurs(t *testing.T) {
	full := unknownState("append op", fmt.Errorf("write chain.db: %w", syscall.ENOSPC))
	if full.Code() != string(jobspec.CodeAuditUnavailable) || !strings.Contains(full.Hint(), "free disk space") {
		t.Errorf("%s: %s", full.Code(), full.Hint())
	}
	other := unknownState("append op", syscall.EIO)
	if other.Code() != string(jobspec.CodeInternal) || other.Hint() == full.Hint() {
		t.Errorf("%s: %s", other.Code(), other.Hint())
	}
}
