package pin

import (
	"encoding/json"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Bounds of a message: a path and its resolution, both below PATH_MAX, in JSON
// with every byte escaped, and the descriptors of one chain and its content.
const (
	maxMessage = 64 << 10
	maxFiles   = maxDepth + 2
)

// question is what the parent asks the child: to open Request, or, where Search
// is set, to find a file.
type question struct {
	Request Request `json:"request"`
	Room    room    `json:"room"`
	Search  *search `json:"search,omitempty"`
}

// answer is what the child says. The descriptors travel beside it: Dirs of the
// chain first, then the content if there is one.
type answer struct {
	Trouble trouble          `json:"trouble"`
	Kind    jobspec.FileKind `json:"kind,omitempty"`
	Dirs    int              `json:"dirs,omitempty"`
	Content bool             `json:"content,omitempty"`
	Sealed  bool             `json:"sealed,omitempty"`
	Found   string           `json:"found,omitempty"`
}

// pack makes the message of an opened path.
func (p *opened) pack() (answer, []*os.File) {
	a := answer{Trouble: p.trouble, Kind: p.kind, Dirs: len(p.chain), Sealed: p.sealed}
	files := append([]*os.File{}, p.chain...)
	if p.content != nil {
		a.Content = true
		files = append(files, p.content)
	}
	return a, files
}

var errOddAnswer = errors.New("the opener's answer does not fit its descriptors")

// unpack joins an answer with the descriptors that came with it, for the
// request that was asked. It takes the files over.
func (a answer) unpack(r Request, files []*os.File) (opened, error) {
	p := opened{trouble: a.Trouble, kind: knownKind(a.Kind)}
	want := a.Dirs
	if a.Content {
		want++
	}
	whole := a.Dirs > 0 && a.Content == (r.Use == jobspec.UseBound)
	if a.Dirs < 0 || want != len(files) || whole != (a.Trouble.Why == whyNone) {
		chain(files).close()
		return opened{}, errOddAnswer
	}
	if !whole {
		chain(files).close()
		return p, nil
	}
	p.chain = chain(files[:a.Dirs])
	if a.Content {
		p.content, p.sealed = files[a.Dirs], a.Sealed
	}
	return p, nil
}

// knownKind keeps words that are not ours out of messages.
func knownKind(k jobspec.FileKind) jobspec.FileKind {
	switch k {
	case jobspec.KindRegular, jobspec.KindDir, jobspec.KindSocket, jobspec.KindDevice:
		return k
	default:
		return jobspec.KindOther
	}
}

// send writes one message with descriptors to a blocking SOCK_SEQPACKET socket.
func send(sock int, a answer, files []*os.File) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	return unix.Sendmsg(sock, body, rights, nil, unix.MSG_NOSIGNAL)
}

// filesOf takes the descriptors out of the control data of one message.
func filesOf(oob []byte) ([]*os.File, error) {
	var files []*os.File
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "opened"))
		}
	}
	return files, nil
}
