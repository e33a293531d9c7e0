package store

import (
	"bytes"
	"fmt"
	"os"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/canon"
	"github.com/sbxcron/sbxcron/store/safefile"
)

const (
	pinType      = "sbxcron.pin/v1"
	maxPinBytes  = 4 << 10
	maxHostBytes = 64
)

// Pin is the remembered head of the chain. It lies in CONF, outside the
// database, so that an older or another database does not fit it.
type Pin struct {
	Type         string          `json:"type"`
	Host         jobspec.HostID  `json:"host"`
	Seq          int64           `json:"seq"` // absent for genesis
	Digest       jobspec.Digest  `json:"digest"`
	Time         jobspec.Instant `json:"time"`          // when it was moved
	PolicySerial int64           `json:"policy_serial"` // highest serial of a managed policy seen; never goes back
}

// ReadPin reads the pin of d. A missing pin is fs.ErrNotExist, a damaged one an
// *Error with pin_corrupt, an unsafe file a *safefile.Error.
func ReadPin(d Dirs) (Pin, error) {
	b, err := safefile.Read(d.Pin(), d.options(maxPinBytes))
	if err != nil {
		return Pin{}, err
	}
	var p Pin
	if err := canon.Unmarshal(b, &p, maxPinBytes); err != nil {
		return Pin{}, pinError(d, "not a pin", err)
	}
	if p.Type != pinType {
		return Pin{}, pinError(d, fmt.Sprintf("type %q is unknown", p.Type), nil)
	}
	if _, err := jobspec.ParseHostID(string(p.Host)); err != nil {
		return Pin{}, pinError(d, "not a pin", err)
	}
	if p.Digest.IsZero() || p.Seq < 0 || p.PolicySerial < 0 {
		return Pin{}, pinError(d, "digest, seq or serial is not possible", nil)
	}
	return p, nil
}

func pinError(d Dirs, detail string, err error) error {
	return &Error{Reason: jobspec.CodePinCorrupt, Seq: NoSeq, Path: d.Pin(), Detail: detail, Err: err}
}

// writePin moves the pin durably. Only a commit calls it.
func writePin(disk Disk, d Dirs, p Pin) error {
	p.Type = pinType
	b, err := canon.Marshal(&p)
	if err != nil {
		return fmt.Errorf("pin: %w", err)
	}
	return safefile.WriteOn(disk, d.Pin(), b, d.ConfMode())
}

// ReadHost reads the host id of d. A missing file is fs.ErrNotExist.
func ReadHost(d Dirs) (jobspec.HostID, error) {
	b, err := safefile.Read(d.Host(), d.options(maxHostBytes))
	if err != nil {
		return "", err
	}
	id, err := jobspec.ParseHostID(string(bytes.TrimSuffix(b, []byte("\n"))))
	if err != nil {
		return "", &Error{Reason: jobspec.CodeStoreCorrupt, Seq: NoSeq, Path: d.Host(), Detail: "not a host id", Err: err}
	}
	return id, nil
}

// WriteHost records the host id, once: an existing one is fs.ErrExist.
func WriteHost(d Dirs, id jobspec.HostID) error {
	if _, err := jobspec.ParseHostID(string(id)); err != nil {
		return err
	}
	if _, err := os.Lstat(d.Host()); err == nil {
		return fmt.Errorf("host id %q: %w", d.Host(), os.ErrExist)
	}
	// Not Create: a crash must not leave half an id.
	return safefile.Write(d.Host(), []byte(id+"\n"), d.ConfMode())
}
