package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/canon"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/safefile"
)

const (
	receiptType     = "sbxcron.receipt/v1"
	maxEpochsBytes  = 64 << 20 // a hundred thousand epochs
	maxReceiptBytes = 2 * checkpoint.MaxBytes
)

// receipt is one line of the receipts.
type receipt struct {
	Type       string `json:"type"`
	Checkpoint string `json:"checkpoint"`
}

// ReadCheckpoint reads the newest checkpoint as it lies in CONF, unverified; ""
// where there is none.
func ReadCheckpoint(d Dirs) (string, error) {
	b, err := safefile.Read(d.Checkpoint(), d.options(checkpoint.MaxBytes))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(b), err
}

// ReadEpochs reads the last checkpoint of each epoch that ended, unverified. whole
// is how many bytes of the file they take: what lies behind was never finished.
func ReadEpochs(d Dirs) (notes []string, whole int64, err error) {
	b, err := safefile.Read(d.Epochs(), safefile.Options{MaxBytes: maxEpochsBytes, UID: d.UID, Secret: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	notes, whole = splitEpochs(string(b))
	return notes, whole, nil
}

// splitEpochs parts text, empty line, signature, empty line, and so on.
func splitEpochs(all string) (notes []string, whole int64) {
	for {
		rest := all[whole:]
		text := strings.Index(rest, "\n\n")
		if text < 0 {
			return notes, whole
		}
		end := strings.Index(rest[text+2:], "\n\n")
		if end < 0 {
			return notes, whole
		}
		end += text + 2 + 1
		notes = append(notes, rest[:end])
		whole += int64(end) + 1
	}
}

// appendEpoch adds the last checkpoint of an epoch behind the others, durably.
func appendEpoch(disk Disk, d Dirs, note string) error {
	return appendTo(disk, d, d.Epochs(), []byte(note+"\n"))
}

// appendReceipt adds a checkpoint to the receipts. A line that a crash has cut
// short is ended first: this file is never made shorter, and where it has the
// flag for that (see AppendOnly) it cannot be.
func appendReceipt(disk Disk, d Dirs, s Signed) error {
	line, err := canon.Marshal(&receipt{receiptType, s.Note})
	if err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	torn, err := tornEnd(d, d.Receipts())
	if err != nil {
		return err
	}
	if torn {
		line = append([]byte("\n"), line...)
	}
	return appendTo(disk, d, d.Receipts(), append(line, '\n'))
}

// tornEnd reports whether a file ends without a line end.
func tornEnd(d Dirs, path string) (bool, error) {
	f, err := safefile.Open(path, os.O_RDONLY, safefile.Options{UID: d.UID, Secret: true})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return false, err
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], st.Size()-1)
	return last[0] != '\n', err
}

// appendTo writes behind the end of a file, durably, and makes it where it is not
// there.
func appendTo(disk Disk, d Dirs, path string, data []byte) error {
	f, err := safefile.Open(path, os.O_WRONLY|os.O_APPEND, safefile.Options{UID: d.UID, Secret: true})
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			err = disk.SyncDir(d.LedgerDir())
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(disk.WriteAll(f, data), disk.DataSync(f), f.Close())
}

// ReadReceipts calls fn with each checkpoint of the receipts, unverified, and the
// number of its line, from 1. Lines that say nothing, as a crash leaves them, are
// passed over.
func ReadReceipts(d Dirs, fn func(line int64, note string) error) error {
	f, err := safefile.Open(d.Receipts(), os.O_RDONLY, safefile.Options{UID: d.UID, Secret: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	lines := newLines(f, st.Size())
	for n := int64(1); ; n++ {
		line, err := lines.next()
		switch {
		case errors.Is(err, errLong):
			return &Error{Reason: jobspec.CodeStoreCorrupt, Seq: NoSeq, Path: d.Receipts(), Detail: fmt.Sprintf("line %d", n), Err: err}
		case err != nil:
			return nil // the end, or a line that was never finished
		}
		var r receipt
		if !bytes.HasPrefix(line, []byte("{")) || canon.Unmarshal(line, &r, maxReceiptBytes) != nil || r.Type != receiptType {
			continue
		}
		if err := fn(n, r.Checkpoint); err != nil {
			return err
		}
	}
}
