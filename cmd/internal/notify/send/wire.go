package send

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxSaid bounds the text of a result, in bytes.
const MaxSaid = 200

// frameSize is the size of every result on the wire: eight bytes for the number of
// the task, one for the class, one for the length of the text, the text, zeros.
const frameSize = 256

const frameHead = 10

// maxTask bounds a task on the wire, in bytes.
const maxTask = 512 << 10

// writeTask sends a task as its number, its length and JSON.
func writeTask(w io.Writer, id uint64, t Task) error {
	body, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode a task: %w", err)
	}
	defer clear(body)
	if len(body) > maxTask {
		return fmt.Errorf("a task of %d bytes, at most %d", len(body), maxTask)
	}
	b := make([]byte, 12, 12+len(body))
	binary.LittleEndian.PutUint64(b, id)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(body)))
	b = append(b, body...)
	defer clear(b)
	_, err = w.Write(b)
	return err
}

// readTask takes what writeTask sent. The service is believed, its bounds are not.
func readTask(r io.Reader) (id uint64, t Task, err error) {
	var b [12]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, t, err
	}
	n := binary.LittleEndian.Uint32(b[8:])
	if n > maxTask {
		return 0, t, fmt.Errorf("a task of %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, t, err
	}
	defer clear(body)
	return binary.LittleEndian.Uint64(b[:]), t, json.Unmarshal(body, &t)
}

func encodeResult(id uint64, res Result) []byte {
	b := make([]byte, frameSize)
	binary.LittleEndian.PutUint64(b, id)
	text := res.Text[:min(len(res.Text), MaxSaid)] // made printable by result
	b[8], b[9] = byte(res.Class), byte(len(text))
	copy(b[frameHead:], text)
	return b
}

// readResult takes exactly what encodeResult makes: a sender that says anything
// else is not believed at all.
func readResult(r io.Reader) (id uint64, res Result, err error) {
	var b [frameSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, res, err
	}
	n := int(b[9])
	res = Result{Class(b[8]), ""}
	if res.Class < Delivered || res.Class > Misconfigured || n > MaxSaid {
		return 0, res, fmt.Errorf("a result of class %d with %d bytes", b[8], n)
	}
	for i, c := range b[frameHead:] {
		if i < n && (c < ' ' || c > '~') || i >= n && c != 0 {
			return 0, res, errors.New("a result with bytes that are no text")
		}
	}
	res.Text = string(b[frameHead : frameHead+n])
	return binary.LittleEndian.Uint64(b[:]), res, nil
}
