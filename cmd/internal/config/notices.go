package config

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// NotifyName is the name below CONF of the file that says who is told.
const NotifyName = "notify.toml"

const maxNotifyBytes = 256 << 10

// NotifyFile is the path of notify.toml. It names people and places, so nobody
// but its owner reads it.
func (s Site) NotifyFile() string { return filepath.Join(s.Conf, NotifyName) }

// Notices reads notify.toml as it is now. Without the file nobody is told. Its
// error is an *Error with the code notice_config.
func (s Site) Notices() (*jobspec.Notices, error) {
	text, err := s.notifyText()
	if errors.Is(err, fs.ErrNotExist) {
		return &jobspec.Notices{}, nil
	}
	var n *jobspec.Notices
	if err == nil {
		n, err = jobtoml.ReadNotices(text)
	}
	if err != nil {
		return nil, &Error{Reason: jobspec.CodeNoticeConfig, Path: s.NotifyFile(), Err: err}
	}
	return n, nil
}

// NoticeFaults are all faults of notify.toml, and what could be read of it. A
// missing file is an error that errors.Is fs.ErrNotExist.
func (s Site) NoticeFaults() (*jobspec.Notices, []error, error) {
	text, err := s.notifyText()
	if err != nil {
		return nil, nil, &Error{Reason: jobspec.CodeNoticeConfig, Path: s.NotifyFile(), Err: err}
	}
	n, faults := jobtoml.NoticeProblems(text)
	return n, faults, nil
}

func (s Site) notifyText() ([]byte, error) {
	return safefile.Read(s.NotifyFile(), safefile.Options{MaxBytes: maxNotifyBytes, UID: s.UID, Secret: true})
}
