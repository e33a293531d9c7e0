//go:build !linux

package escape

import "errors"

// StageOptions say where and for whom a stage is made.
type StageOptions struct {
	Program                string
	UID, GID               int
	Conf, State, Run, Home string
}

// Stage is what lies outside of the sandbox; there is none on this system.
type Stage struct{ Dir, Shown, Work, Program, Jobs string }

var errNoStage = errors.New("attempts are made on linux only")

// NewStage refuses.
func NewStage(StageOptions) (*Stage, error) { return nil, errNoStage }

// Targets are none.
func (s *Stage) Targets() map[string]string { return nil }

// Changes refuses.
func (s *Stage) Changes() ([]string, error) { return nil, errNoStage }

// Heard refuses.
func (s *Stage) Heard() (map[string]bool, error) { return nil, errNoStage }

// Close does nothing.
func (s *Stage) Close() error { return nil }
