package ui

import (
	"fmt"
	"strings"
)

// Confirm asks a question whose answer is no unless somebody types y or yes.
// Without a terminal it is ErrNoTerminal and nothing was asked.
func (s *Streams) Confirm(question string) (bool, error) {
	answer, err := s.Ask(question + " [y/N] ")
	if err != nil {
		return false, err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return true, nil
	default:
		return false, nil
	}
}

// Ask shows prompt on the terminal and reads one line, without the space around it.
func (s *Streams) Ask(prompt string) (string, error) {
	t, err := s.terminal()
	if err != nil {
		return "", err
	}
	defer t.Close()
	line, err := t.Line(prompt)
	if err != nil {
		return "", fmt.Errorf("read answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// Passphrase reads a secret without echo. An empty secret is possible.
func (s *Streams) Passphrase(prompt string) ([]byte, error) {
	t, err := s.terminal()
	if err != nil {
		return nil, err
	}
	defer t.Close()
	secret, err := t.Secret(prompt)
	if err != nil {
		return nil, fmt.Errorf("read passphrase: %w", err)
	}
	return secret, nil
}

func (s *Streams) terminal() (Terminal, error) {
	if !s.Asks || s.OpenTTY == nil {
		return nil, ErrNoTerminal
	}
	t, err := s.OpenTTY()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	return t, nil
}
