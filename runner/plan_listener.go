package runner

import (
	"fmt"

	"github.com/sbxcron/sbxcron/runner/seccomp"
	"github.com/sbxcron/sbxcron/runner/stub"
)

// What the stub and the supervisor of a run agree on.
const (
	ListenerFD   = secondSpareFD             // where the listener waits to be taken
	ListenerPath = PrivateDir + "/listening" // exists nowhere; the supervisor answers one open of it with the first name's bytes
	MeasuredPath = PrivateDir + "/measured"  // exists nowhere; an open for reading and writing says that the job's own calls come next
	MeasuredErr  = 76                        // ENOTUNIQ, the answer to it, which no file system gives
)

// Flags of seccomp(2). A call that is being answered is interrupted by nothing
// but death: programs do not expect EINTR of an open.
const (
	filterNewListener  = 0x8
	filterWaitKillable = 0x20
)

// Watch is what the listener of the run is asked about.
func (b *Blueprint) Watch() seccomp.Watch {
	return seccomp.Watch{Names: len(b.Names) > 0, Opens: b.Opens()}
}

// listener puts the second filter in force and says that its listener is here.
// Nothing waits for it to be taken but the first call that is answered: the kernel
// holds that call until somebody has taken the listener, and for good where nobody
// does. Where names of the host are opened, the rows measure that this is answered:
// a name that does not exist opens, as a file of the sandbox's own that is as long
// as the first bound name's, and that name opens as the same file.
func (s *steps) listener() {
	filter, err := seccomp.Listener(s.m.Arch, s.b.Watch())
	if err != nil {
		s.err = err
		return
	}
	code := s.t.Bytes(fmt.Sprintf("listener of %d instructions", len(filter)), filter.Bytes())
	s.call(LayerListener, "seccomp", firstSpareFD, stub.Int(1), stub.Int(filterNewListener|filterWaitKillable),
		s.t.Words("sock_fprog", stub.Int(int64(len(filter))), code))
	s.call(LayerListener, "fcntl", ListenerFD, stub.Int(firstSpareFD), stub.Int(fDupFDCloexec), stub.Int(ListenerFD))
	s.call(LayerListener, "close", 0, stub.Int(firstSpareFD))
	s.call(LayerListener, "write", stub.MessageSize, stub.Int(stub.StatusFD), s.t.Bytes("listener", stub.Listener()), stub.Int(stub.MessageSize))
	if len(s.b.Names) == 0 {
		return
	}
	s.answered(ListenerPath, 22)
	s.answered(s.b.Names[0].Path, 23)
	s.same(LayerListener, "inode of an answer", stub.Cell(22, statIno), stub.Cell(23, statIno))
}

// measured says that all was measured that is refused: what is refused from here
// on was tried by the job. That it is answered shows that somebody listens, who
// holds descriptors of his own: those that wait to be taken are closed. It runs
// before the listing of open files.
func (s *steps) measured() {
	s.call(LayerListener, "openat", -MeasuredErr, stub.Int(atCwd), s.t.String(MeasuredPath), stub.Int(oReadWrite|oCloexec), stub.Int(0))
	s.call(LayerListener, "close", 0, stub.Int(ListenerFD))
	s.netTaken()
}

// answered opens a path, which is answered, and looks at what it got.
func (s *steps) answered(path string, cell int) {
	n := s.b.Names[0]
	s.call(LayerListener, "openat", firstSpareFD, stub.Int(atCwd), s.t.String(path), stub.Int(oCloexec), stub.Int(0))
	s.call("", "fstat", 0, stub.Int(firstSpareFD), stub.Cell(cell, 0))
	s.word(LayerListener, "size of an answer", n.Size, stub.Cell(cell, statSize))
	if n.Sealed {
		s.call("", "newfstatat", 0, stub.Int(atCwd), s.t.String("/"), stub.Cell(12, 0), stub.Int(0))
		s.same(LayerListener, "device of an answer and of the private root", stub.Cell(cell, statDev), stub.Cell(12, statDev))
	}
	s.close(firstSpareFD)
}
