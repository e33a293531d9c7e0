package stub

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// referenceName is argv[0] of the reference stub: this test program again.
const referenceName = "reference stub"

func TestMain(m *testing.M) {
	if os.Args[0] == referenceName {
		reference()
	}
	os.Exit(m.Run())
}

// reference walks the table in plain Go, in memory at the same addresses.
func reference() {
	runtime.LockOSThread()
	const fixed = 0x100000 // MAP_FIXED_NOREPLACE
	_, _, errno := syscall.RawSyscall6(syscall.SYS_MMAP, Base, memorySize, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|fixed, ^uintptr(0), 0)
	if errno != 0 {
		os.Exit(99)
	}
	syscall.RawSyscall6(syscall.SYS_PREAD64, TableFD, Base, maxImage, 0, 0, 0)
	for row := uintptr(Base); ; row += rowSize {
		if got, ok := step(row); !ok {
			msg := [2]uint64{uint64(row), uint64(got)}
			syscall.RawSyscall(syscall.SYS_WRITE, StatusFD, uintptr(unsafe.Pointer(&msg)), MessageSize)
			os.Exit(ExitCode)
		}
	}
}

func at(addr uintptr) uint64 { return **(**uint64)(unsafe.Pointer(&addr)) }

func step(row uintptr) (got int64, ok bool) {
	var v [9]uint64
	for i := range v {
		v[i] = at(row + uintptr(8*i))
	}
	switch Kind(v[0]) {
	case Call, CallAny:
		r, _, errno := syscall.RawSyscall6(uintptr(v[1]), uintptr(v[2]), uintptr(v[3]), uintptr(v[4]), uintptr(v[5]), uintptr(v[6]), uintptr(v[7]))
		got = int64(r)
		if errno != 0 {
			got = -int64(errno)
		}
		return got, Kind(v[0]) == CallAny || got == int64(v[8])
	case Word:
		got = int64(at(uintptr(v[2])))
		return got, got == int64(v[8])
	case Same:
		got = int64(at(uintptr(v[2])))
		return got, uint64(got) == at(uintptr(v[3]))
	}
	return 0, false
}

// outcome is what can be seen of a run from outside.
type outcome struct {
	status string
	out    string
	exit   int
}

// runTable runs a table with the program; release is what is written to the
// barrier.
func runTable(t *testing.T, program, argv0 string, image []byte, release string) outcome {
	t.Helper()
	table := filepath.Join(t.TempDir(), "table")
	if err := os.WriteFile(table, image, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(5, io.SeekStart); err != nil { // the offset must not matter
		t.Fatal(err)
	}
	statusR, statusW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	barrierR, barrierW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := barrierW.WriteString(release); err != nil {
		t.Fatal(err)
	}
	barrierW.Close()
	var out bytes.Buffer
	cmd := &exec.Cmd{Path: program, Args: []string{argv0}, Env: []string{"A=1"}, Stdout: &out, ExtraFiles: []*os.File{f, statusW, barrierR}}
	runErr := cmd.Run()
	for _, c := range []*os.File{f, statusW, barrierR} {
		c.Close()
	}
	status, err := io.ReadAll(statusR)
	statusR.Close()
	var exit *exec.ExitError
	if err != nil || runErr != nil && !errors.As(runErr, &exit) {
		t.Fatal(err, runErr)
	}
	return outcome{string(status), out.String(), cmd.ProcessState.ExitCode()}
}

// emitted writes the stub for this machine to a file.
func emitted(t *testing.T) string {
	t.Helper()
	elf, err := Emit(runtime.GOARCH)
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "stub")
	if err := os.WriteFile(path, elf, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func sysRow(name string, nr uintptr, want int64, args ...Arg) Row {
	return Row{Kind: Call, Name: name, NR: uint32(nr), Args: args, Want: want}
}

// sample is a whole walk: a measured file, ready, the barrier, the payload.
func sample() *Table {
	var t Table
	t.Add(Row{Kind: CallAny, Name: "getpid", NR: uint32(syscall.SYS_GETPID)})
	t.Add(sysRow("fstat", syscall.SYS_FSTAT, 0, Int(TableFD), Cell(0, 0)))
	t.Add(Row{Kind: Word, Name: "size", Args: []Arg{Cell(0, 48)}, Want: int64(0)})
	t.Add(sysRow("fstat", syscall.SYS_FSTAT, 0, Int(TableFD), Cell(1, 0)))
	t.Add(Row{Kind: Same, Name: "inode", Args: []Arg{Cell(0, 8), Cell(1, 8)}})
	t.Add(sysRow("write", syscall.SYS_WRITE, MessageSize, Int(StatusFD), t.Bytes("ready", Ready()), Int(MessageSize)))
	t.Add(sysRow("read", syscall.SYS_READ, 1, Int(BarrierFD), Cell(2, 0), Int(1)))
	t.Add(Row{Kind: Word, Name: "release byte", Args: []Arg{Cell(2, 0)}, Want: 'R'})
	t.Add(sysRow("execve", syscall.SYS_EXECVE, 0, t.String("/bin/echo"), t.Strings("argv", []string{"echo", "payload"}), t.Strings("env", nil)))
	return &t
}

func TestTheProgramWalksItsTableLikeTheReference(t *testing.T) {
	program := emitted(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		change  func(*Table)
		release string
		want    func(*Table) outcome
	}{
		{"everything holds", nil, "R", func(*Table) outcome { return outcome{string(Ready()), "payload\n", 0} }},
		{"a result differs", func(t *Table) { t.rows[3].Want = 1 }, "R", reports(3, 0)},
		{"a word differs", func(t *Table) { t.rows[2].Want = 77 }, "R", nil},
		{"two words differ", func(t *Table) { t.rows[4].Args = []Arg{Cell(0, 48), Cell(0, 8)} }, "R", nil},
		{"the barrier is closed", nil, "", readyThen(6, 0)},
		{"the barrier brings another byte", nil, "x", readyThen(7, 'x')},
		{"the payload is missing", func(t *Table) { t.blobs[1].bytes = []byte("/nonexistent\x00") }, "R", readyThen(8, -2)},
		{"a row is of no kind", func(t *Table) { t.rows[1].Kind = NoKind }, "R", nil},
		{"rows end without a payload", func(t *Table) { t.rows = t.rows[:2] }, "R", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := sample()
			if tc.change == nil || tc.name != "a word differs" {
				table.rows[2].Want = int64(imageSize(table))
			}
			if tc.change != nil {
				tc.change(table)
			}
			image := encodeAnyway(table)
			got := runTable(t, program, "stub", image, tc.release)
			ref := runTable(t, self, referenceName, image, tc.release)
			if got != ref {
				t.Errorf("the program: %+v, the reference: %+v", got, ref)
			}
			if tc.want != nil && got != tc.want(table) {
				t.Errorf("got %+v, want %+v", got, tc.want(table))
			}
			if tc.want == nil && (got.exit != ExitCode || got.out != "") {
				t.Errorf("got %+v, want exit %d and no payload", got, ExitCode)
			}
		})
	}
}

// encodeAnyway encodes tables that Encode refuses, to show that the program
// refuses them too.
func encodeAnyway(t *Table) []byte {
	saved := t.rows
	var rows []Row
	for _, r := range saved {
		if r.Kind == NoKind {
			r.Kind = Call
		}
		rows = append(rows, r)
	}
	t.rows = rows
	image, err := t.Encode()
	if err != nil {
		panic(err)
	}
	for i, r := range saved {
		if r.Kind == NoKind {
			clear(image[i*rowSize : i*rowSize+8])
		}
	}
	t.rows = saved
	return image
}

func imageSize(t *Table) int { return len(encodeAnyway(t)) }

func reports(row int, result int64) func(*Table) outcome {
	return func(*Table) outcome { return outcome{reportText(row, result), "", ExitCode} }
}

func readyThen(row int, result int64) func(*Table) outcome {
	return func(*Table) outcome { return outcome{string(Ready()) + reportText(row, result), "", ExitCode} }
}

func reportText(row int, result int64) string {
	b := make([]byte, 0, MessageSize)
	for _, v := range []uint64{Base + uint64(row*rowSize), uint64(result)} {
		for i := range 8 {
			b = append(b, byte(v>>(8*i)))
		}
	}
	return string(b)
}

func TestTheProgramRefusesAMissingTable(t *testing.T) {
	program := emitted(t)
	cmd := exec.Command(program) // no descriptor 3, 4 and 5
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != ExitCode {
		t.Errorf("ended with %v", err)
	}
	if got := runTable(t, program, "stub", nil, "R"); got.exit != ExitCode || got.out != "" {
		t.Errorf("an empty table: %+v", got)
	}
}

func TestMessagesAreReadBack(t *testing.T) {
	ready, _, err := ParseMessage(Ready())
	if err != nil || !ready {
		t.Errorf("ready: %t, %v", ready, err)
	}
	ready, r, err := ParseMessage([]byte(reportText(12, -13)))
	if err != nil || ready || r != (Report{12, -13}) {
		t.Errorf("report: %t, %+v, %v", ready, r, err)
	}
	for _, bad := range []string{"", "ready", strings.Repeat("x", MessageSize), reportText(0, 0)[:15], reportText(0, 0) + "x", "\x01" + reportText(0, 0)[1:]} {
		if ready, _, err := ParseMessage([]byte(bad)); err == nil || ready {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestTablesThatCannotBeWalkedAreRefused(t *testing.T) {
	big := &Table{}
	big.Add(sysRow("write", 1, 0, big.Bytes("too much", make([]byte, maxImage))))
	many := &Table{}
	many.Add(sysRow("x", 1, 0, make([]Arg, 7)...))
	none := &Table{}
	none.Add(Row{Name: "no kind"})
	for name, table := range map[string]*Table{"empty": {}, "big": big, "seven arguments": many, "no kind": none} {
		if b, err := table.Encode(); err == nil {
			t.Errorf("%s: %d bytes", name, len(b))
		}
	}
}

func TestATablePrintsAsText(t *testing.T) {
	table := sample()
	table.rows[3].Want, table.rows[3].Layer = -30, "mounts"
	want := `000 getpid()
001 fstat(3, cell0+0) = 0
002 size: cell0+48 == 0x0
003 fstat(3, cell1+0) = EROFS  # mounts
004 inode: cell0+8 == cell1+8
005 write(4, ready, 16) = 16
006 read(5, cell2+0, 1) = 1
007 release byte: cell2+0 == 0x52
008 execve("/bin/echo", argv["echo" "payload" 0], env[0]) = 0
`
	if got := table.Dump(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
