//go:build !linux

package store

import (
	"errors"
	"fmt"
)

// ProtectReceipts is for Linux alone.
func ProtectReceipts(d Dirs) error {
	return fmt.Errorf("make %q append-only: %w", d.Receipts(), errors.ErrUnsupported)
}

// ReceiptsProtected is for Linux alone.
func ReceiptsProtected(Dirs) (bool, error) { return false, errors.ErrUnsupported }
