package stub

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// cpu walks the arm64 lines by their text, which another test shows to be what
// the bytes mean, with a kernel that the test plays.
type cpu struct {
	x      map[string]uint64 // X0.. and SP
	mem    []byte            // from Base
	equal  bool
	kernel func(nr uint64, args [6]uint64) int64
	stack  [2]uint64 // what STP pushed
}

func (c *cpu) word(addr uint64) uint64 {
	if addr < Base || addr+8 > Base+uint64(len(c.mem)) {
		return 0
	}
	return binary.LittleEndian.Uint64(c.mem[addr-Base:])
}

func number(s string) uint64 {
	n, err := strconv.ParseUint(strings.Trim(s, "#"), 0, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (c *cpu) value(s string) uint64 {
	if strings.HasPrefix(s, "#") {
		return number(s)
	}
	return c.x[s]
}

// step runs one line that is no jump; false ends the walk (BRK).
func (c *cpu) step(text string) bool {
	op, rest, _ := strings.Cut(text, " ")
	f := strings.Split(rest, ", ")
	switch op {
	case "MOV":
		c.x[f[0]] = c.value(f[1])
	case "LDR":
		base, off, _ := strings.Cut(strings.Trim(f[1], "[]"), ",")
		addr := c.x[base]
		if off != "" {
			addr += number(off)
		}
		c.x[f[0]] = c.word(addr)
	case "CMP":
		c.equal = c.x[f[0]] == c.value(f[1])
	case "ADD":
		c.x[f[0]] = c.x[f[1]] + c.value(f[2])
	case "STP":
		c.stack = [2]uint64{c.x[f[0]], c.x[f[1]]}
	case "SVC":
		var a [6]uint64
		for i := range a {
			a[i] = c.x[fmt.Sprintf("X%d", i)]
		}
		c.x["X0"] = uint64(c.kernel(c.x["X8"], a))
	case "BRK":
		return false
	default:
		panic(text)
	}
	return true
}

// walk runs the program until exit_group and returns its status.
func (c *cpu) walk(t *testing.T, image []byte) (exit uint64) {
	t.Helper()
	lines, labels := arm64Machine().lines, map[string]int{}
	for i, l := range lines {
		if l.label != "" {
			labels[l.label] = i
		}
	}
	outer, exited := c.kernel, false
	c.kernel = func(nr uint64, a [6]uint64) int64 {
		switch {
		case nr == 67 && a[0] == TableFD: // pread64 of the table
			c.mem = append(append([]byte(nil), image...), make([]byte, memorySize-len(image))...)
			return int64(len(image))
		case nr == 94: // exit_group
			exit, exited = a[0], true
		}
		return outer(nr, a)
	}
	c.x = map[string]uint64{}
	for pc, n := 0, 0; n < 10000; n++ {
		l := lines[pc]
		pc++
		switch {
		case l.text == "B", l.text == "B.EQ" && c.equal, l.text == "B.NE" && !c.equal:
			pc = labels[l.to]
		case l.to != "":
		case !c.step(l.text) || exited:
			return exit
		}
	}
	t.Fatal("the program does not end")
	return 0
}

func TestTheARM64ProgramWalksItsTable(t *testing.T) {
	var table Table
	table.Add(Row{Kind: CallAny, Name: "any", NR: 500})
	table.Add(Row{Kind: Call, Name: "six", NR: 501, Args: []Arg{Int(1), Int(2), Int(3), Int(4), Int(5), Int(-6)}, Want: -30})
	table.Add(Row{Kind: Word, Args: []Arg{table.Bytes("w", []byte{7, 0, 0, 0, 0, 0, 0, 0})}, Want: 7})
	table.Add(Row{Kind: Same, Args: []Arg{table.Bytes("v", []byte("12345678")), table.Bytes("u", []byte("12345678"))}})
	table.Add(Row{Kind: Call, Name: "last", NR: 502, Want: 1})
	for _, tc := range []struct {
		name   string
		change func(*Table)
		row    int
		result int64
	}{
		{"to the last row", func(*Table) {}, 4, 0},
		{"a call", func(t *Table) { t.rows[1].Want = 0 }, 1, -30},
		{"a word", func(t *Table) { t.rows[2].Want = 8 }, 2, 7},
		{"two words", func(t *Table) { t.blobs[2].bytes = []byte("12345679") }, 3, int64(binary.LittleEndian.Uint64([]byte("12345678")))},
		{"no more rows", func(t *Table) { t.rows[4].Want = 0 }, 5, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			one := Table{rows: append([]Row(nil), table.rows...), blobs: append([]blob(nil), table.blobs...)}
			tc.change(&one)
			image, err := one.Encode()
			if err != nil {
				t.Fatal(err)
			}
			var calls []uint64
			c := &cpu{}
			c.kernel = func(nr uint64, a [6]uint64) int64 {
				calls = append(calls, nr)
				if nr == 501 && a == [6]uint64{1, 2, 3, 4, 5, ^uint64(5)} {
					return -30
				}
				return 0
			}
			exit := c.walk(t, image)
			at := Base + uint64(tc.row*rowSize)
			if exit != ExitCode || c.stack[0] != at || tc.row != 5 && int64(c.stack[1]) != tc.result {
				t.Errorf("exit %d, report {%#x, %d}, want {%#x, %d}; calls %v", exit, c.stack[0], int64(c.stack[1]), at, tc.result, calls)
			}
			if n := len(calls); n < 2 || calls[n-1] != 94 || calls[n-2] != 64 {
				t.Errorf("calls %v, want write and exit_group at the end", calls)
			}
		})
	}
}
