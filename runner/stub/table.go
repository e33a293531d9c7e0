package stub

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// File descriptors that the program inherits, and its exit status when a row
// does not hold.
const (
	TableFD   = 3 // the encoded table, read from offset 0
	StatusFD  = 4 // a pipe: messages of MessageSize bytes
	BarrierFD = 5 // a pipe: one byte lets the payload go
	ExitCode  = 125
)

// Memory of the program: the table is read to Base; scratch cells, zero at
// first, lie above it.
const (
	Base        = 0x10000000
	maxImage    = 768 << 10
	scratchBase = Base + maxImage
	cellSize    = 256
	cells       = 64
	memorySize  = maxImage + cells*cellSize
)

// Kind says how a row is judged.
type Kind uint64

// The kinds. The zero value never holds, so memory without a table stops the
// program.
const (
	NoKind  Kind = iota
	Call         // the call's result must be Want
	CallAny      // any result will do; for the few calls that answer with what was before
	Word         // the 8 bytes at the first argument must be Want
	Same         // the 8 bytes at the first argument must be those at the second
)

// Arg is an argument: a number or the address of something in the table.
type Arg struct {
	kind argKind
	n    uint64
	blob int
}

type argKind uint8

const (
	argNumber argKind = iota
	argBlob
	argCell
)

// Int is a number.
func Int(n int64) Arg { return Arg{n: uint64(n)} }

// Uint is a number with all 64 bits.
func Uint(n uint64) Arg { return Arg{n: n} }

// Cell is the address of offset bytes into a scratch cell of 256 bytes.
func Cell(cell, offset int) Arg { return Arg{kind: argCell, n: uint64(cell*cellSize + offset)} }

// Row is one step. Name is the call's name or what is compared; Layer, where it
// is set, names the layer of the sandbox that the row measures.
type Row struct {
	Kind  Kind
	Name  string
	NR    uint32
	Args  []Arg // at most six
	Want  int64
	Layer string
}

// Blob is data of a table: bytes, or pointers to other blobs.
type blob struct {
	name   string
	bytes  []byte
	words  []Arg // instead of bytes: 8 bytes each
	hidden bool  // bytes are a secret
}

// Table is what the program does, from the first row to the execve that ends
// it. The zero value does nothing and is refused.
type Table struct {
	rows  []Row
	blobs []blob
}

// Add appends a row.
func (t *Table) Add(r Row) { t.rows = append(t.rows, r) }

// Bytes puts data into the table and returns its address.
func (t *Table) Bytes(name string, b []byte) Arg {
	t.blobs = append(t.blobs, blob{name: name, bytes: b})
	return Arg{kind: argBlob, blob: len(t.blobs) - 1}
}

// String puts a text with the zero byte that ends it into the table.
func (t *Table) String(s string) Arg { return t.Bytes(fmt.Sprintf("%q", s), append([]byte(s), 0)) }

// Hidden is like String for a secret: it prints as name, and Clear overwrites it.
func (t *Table) Hidden(name string, text []byte) Arg {
	at := t.Bytes("<"+name+">", append(append(make([]byte, 0, len(text)+1), text...), 0))
	t.blobs[at.blob].hidden = true
	return at
}

// Clear overwrites what is hidden. The table cannot be used for a job after it,
// only printed.
func (t *Table) Clear() {
	for _, b := range t.blobs {
		if b.hidden {
			clear(b.bytes)
		}
	}
}

// Words puts numbers and addresses of 8 bytes each into the table.
func (t *Table) Words(name string, words ...Arg) Arg {
	t.blobs = append(t.blobs, blob{name: name, words: words})
	return Arg{kind: argBlob, blob: len(t.blobs) - 1}
}

// Strings puts a list of texts into the table, as execve wants argv and envp.
func (t *Table) Strings(name string, list []string) Arg {
	words := make([]Arg, 0, len(list)+1)
	for _, s := range list {
		words = append(words, t.String(s))
	}
	return t.Words(name, append(words, Int(0))...)
}

// Rows returns the rows.
func (t *Table) Rows() []Row { return t.rows }

// rowSize is the size of an encoded row: kind, number, six arguments, the
// expected result.
const rowSize = 9 * 8

// Encode returns the table as the program reads it: the rows, a row of zeros
// that never holds, the data.
func (t *Table) Encode() ([]byte, error) {
	if len(t.rows) == 0 {
		return nil, errors.New("encode table: no rows")
	}
	offsets, size := t.layout()
	if size > maxImage {
		return nil, fmt.Errorf("encode table: %d bytes, at most %d", size, maxImage)
	}
	image := make([]byte, 0, size)
	for i, r := range t.rows {
		if r.Kind < Call || r.Kind > Same || len(r.Args) > 6 {
			return nil, fmt.Errorf("encode table: row %d (%s) is malformed", i, r.Name)
		}
		image = t.appendRow(image, r, offsets)
	}
	image = append(image, make([]byte, rowSize)...)
	for i, b := range t.blobs {
		image = append(image, make([]byte, offsets[i]-len(image))...)
		image = append(image, b.bytes...)
		for _, w := range b.words {
			image = binary.LittleEndian.AppendUint64(image, w.address(offsets))
		}
	}
	return image, nil
}

// layout places the data behind the rows, each piece at a multiple of 8.
func (t *Table) layout() (offsets []int, size int) {
	at := (len(t.rows) + 1) * rowSize
	for _, b := range t.blobs {
		at = (at + 7) &^ 7
		offsets = append(offsets, at)
		at += len(b.bytes) + 8*len(b.words)
	}
	return offsets, at
}

func (t *Table) appendRow(image []byte, r Row, offsets []int) []byte {
	image = binary.LittleEndian.AppendUint64(image, uint64(r.Kind))
	image = binary.LittleEndian.AppendUint64(image, uint64(r.NR))
	for i := range 6 {
		v := uint64(0)
		if i < len(r.Args) {
			v = r.Args[i].address(offsets)
		}
		image = binary.LittleEndian.AppendUint64(image, v)
	}
	return binary.LittleEndian.AppendUint64(image, uint64(r.Want))
}

func (a Arg) address(offsets []int) uint64 {
	switch a.kind {
	case argBlob:
		return Base + uint64(offsets[a.blob])
	case argCell:
		return scratchBase + a.n
	}
	return a.n
}
