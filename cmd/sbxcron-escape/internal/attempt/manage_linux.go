package attempt

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/sbxcron/sbxcron/runner/escape"
)

// orderFD is where a worker reads its task.
const orderFD = 3

// patience is how long one attempt may take.
const patience = 10 * time.Second

// manage has all attempts made and prints an answer for each.
func manage(in io.Reader, out io.Writer, open []int) error {
	t := task{Inherited: open}
	if err := json.NewDecoder(in).Decode(&t.Order); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	all := t.Order.Attempts()
	print := json.NewEncoder(out)
	for at := 0; at < len(all); {
		t.From, t.To = at, span(all, at)
		answers, end, err := t.worker()
		if err != nil {
			return err
		}
		at += len(answers)
		if end != "" && at < t.To {
			answers = append(answers, escape.Answer{ID: all[at].ID, Said: end})
			at++
		}
		for _, a := range answers {
			if err := print.Encode(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// span is the end of the attempts from at on that one process may make.
func span(all []escape.Attempt, at int) int {
	to := at + 1
	for !all[at].Alone() && to < len(all) && !all[to].Alone() {
		to++
	}
	return to
}

// worker has a process make attempts. It returns their answers and how the
// process ended if that was not by itself.
func (t task) worker() (answers []escape.Answer, end string, err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	defer read.Close()
	cmd := exec.Command(t.Order.Targets["program"], "worker")
	cmd.Stdin, cmd.Stderr, cmd.ExtraFiles = os.Stdin, os.Stderr, []*os.File{read}
	lines, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("start a worker: %w", err), write.Close())
	}
	sendErr := errors.Join(json.NewEncoder(write).Encode(t), write.Close())
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // it may have ended
	hung := false
	s := bufio.NewScanner(lines)
	for s.Scan() {
		hung = !late.Reset(patience)
		var a escape.Answer
		if err := json.Unmarshal(s.Bytes(), &a); err != nil {
			return nil, "", errors.Join(fmt.Errorf("a worker said %q", s.Text()), cmd.Process.Kill(), cmd.Wait())
		}
		answers = append(answers, a)
	}
	hung = !late.Stop() || hung
	waitErr := cmd.Wait()
	switch {
	case hung:
		return answers, "hung", nil
	case waitErr != nil:
		return answers, "died", nil
	case len(answers) == 0:
		return nil, "", errors.Join(errors.New("a worker said nothing"), sendErr)
	}
	return answers, "", nil
}
