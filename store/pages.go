package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The layout of a bbolt file, version 2 (bbolt internal/common: page.go,
// meta.go, inode.go). All integers are in the byte order of the machine, which
// is little-endian on every one that we build for.
const (
	pageHeader  = 16 // id u64, flags u16, count u16, overflow u32
	pageElement = 16 // branch: pos, ksize u32, page u64; leaf: flags, pos, ksize, vsize u32
	branchPage  = 0x01
	leafPage    = 0x02
	bucketLeaf  = 0x01
	metaBytes   = 64
	metaSummed  = 56 // bytes under the checksum at the end
	metaMagic   = 0xED0CDAED
	metaVersion = 2
	maxDepth    = 64 // of nested pages, far beyond what a file of its maximum size needs
)

// pageWalk visits each page that is in use once and holds its header and the
// bounds of its elements against the file.
type pageWalk struct {
	file     io.ReaderAt
	pageSize int64
	limit    uint64 // pages in use, by the meta page
	seen     []uint64
	spare    [][]byte // buffers that no page under visit uses
	window   []byte   // bytes of the file that were read together
	at       int64    // where they begin
}

// checkPages reads the structure of a bbolt file without mapping it. It finds
// what bbolt itself does not survive: pages beyond the end, pages that lead back
// to themselves, and lengths that are far too large, for which bbolt loops and
// allocates in a goroutine of its own. What the pages hold is not judged here.
func checkPages(file io.ReaderAt, size int64) error {
	meta, err := newestMeta(file, size)
	if err != nil {
		return err
	}
	w := &pageWalk{file: file, pageSize: int64(meta.pageSize), limit: meta.pages}
	if meta.pages > uint64(size/w.pageSize) {
		return fmt.Errorf("the file has %d bytes, %d pages are in use", size, meta.pages)
	}
	w.seen = make([]uint64, meta.pages/64+1) // a bit a page: there may be a million
	return w.visit(meta.root, 0)
}

type metaPage struct {
	pageSize uint32
	root     uint64
	pages    uint64
	tx       uint64
}

// newestMeta picks the meta page that bbolt will use: the valid one with the
// higher transaction. The second lies one page behind the first, whatever size
// pages have.
func newestMeta(file io.ReaderAt, size int64) (metaPage, error) {
	var best metaPage
	for at := int64(0); at <= 64<<10 && at < size; at = max(2*at, 1<<9) {
		buf := make([]byte, pageHeader+metaBytes)
		if _, err := file.ReadAt(buf, at); err != nil {
			break
		}
		m, ok := readMeta(buf[pageHeader:])
		if ok && (at == 0 || at == int64(m.pageSize)) && (best.pageSize == 0 || m.tx > best.tx) {
			best = m
		}
	}
	if best.pageSize == 0 {
		return best, errors.New("no valid meta page")
	}
	return best, nil
}

func readMeta(b []byte) (metaPage, bool) {
	le := binary.LittleEndian
	sum := fnv.New64a()
	sum.Write(b[:metaSummed])
	m := metaPage{pageSize: le.Uint32(b[8:]), root: le.Uint64(b[16:]), pages: le.Uint64(b[40:]), tx: le.Uint64(b[48:])}
	ok := le.Uint32(b) == metaMagic && le.Uint32(b[4:]) == metaVersion && le.Uint64(b[metaSummed:]) == sum.Sum64()
	return m, ok && m.pageSize >= 1<<9 && m.pageSize <= 64<<10 && m.pageSize&(m.pageSize-1) == 0
}

func (w *pageWalk) visit(id uint64, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("page %d: nested too deeply", id)
	}
	b, err := w.load(id)
	if err != nil {
		return err
	}
	defer func() { w.spare = append(w.spare, b) }()
	count := int(binary.LittleEndian.Uint16(b[10:]))
	if pageHeader+count*pageElement > len(b) {
		return fmt.Errorf("page %d: %d elements do not fit", id, count)
	}
	each := w.leaf
	if binary.LittleEndian.Uint16(b[8:]) == branchPage {
		each = w.branch
		if count == 0 {
			return fmt.Errorf("page %d: a branch without elements", id)
		}
	}
	for i := range count {
		// Positions count from the element.
		if err := each(b[pageHeader+i*pageElement:], depth); err != nil {
			return fmt.Errorf("page %d element %d: %w", id, i, err)
		}
	}
	return nil
}

// load reads a page with its overflow and checks its header.
func (w *pageWalk) load(id uint64) ([]byte, error) {
	if id < 2 || id >= w.limit {
		return nil, fmt.Errorf("page %d: outside of the file", id)
	}
	b := w.buffer(w.pageSize)
	if err := w.read(b, int64(id)*w.pageSize); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	le := binary.LittleEndian
	flags, overflow := le.Uint16(b[8:]), uint64(le.Uint32(b[12:]))
	if le.Uint64(b) != id || flags != branchPage && flags != leafPage || overflow >= w.limit-id {
		return nil, fmt.Errorf("page %d: the header is damaged", id)
	}
	for n := id; n <= id+overflow; n++ {
		bit := uint64(1) << (n % 64)
		if w.seen[n/64]&bit != 0 {
			return nil, fmt.Errorf("page %d: in use twice", n)
		}
		w.seen[n/64] |= bit
	}
	if overflow == 0 {
		return b, nil
	}
	all := w.buffer(int64(overflow+1) * w.pageSize)
	copy(all, b)
	w.spare = append(w.spare, b)
	if err := w.read(all[w.pageSize:], int64(id+1)*w.pageSize); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	return all, nil
}

// windowBytes are read at once where pages follow each other, as in a chain they do.
const windowBytes = 256 << 10

// read fills b from the file, out of the window where it lies there. What lies right
// behind the window makes the next one; what lies elsewhere is read alone.
func (w *pageWalk) read(b []byte, at int64) error {
	end := w.at + int64(len(w.window))
	if at >= w.at && at+int64(len(b)) <= end {
		copy(b, w.window[at-w.at:])
		return nil
	}
	if at < w.at || at > end+windowBytes || len(b) > windowBytes {
		if _, err := w.file.ReadAt(b, at); err != nil {
			return err
		}
		if at > end {
			w.at, w.window = at+int64(len(b)), w.window[:0]
		}
		return nil
	}
	if w.window == nil {
		w.window = make([]byte, windowBytes)
	}
	n, err := w.file.ReadAt(w.window[:windowBytes], at)
	w.at, w.window = at, w.window[:n]
	if n < len(b) {
		return err // never nil here
	}
	copy(b, w.window)
	return nil
}

// buffer gives a spare buffer or a new one. A walk needs as many as pages are nested.
func (w *pageWalk) buffer(size int64) []byte {
	for i := len(w.spare) - 1; i >= 0; i-- {
		if b := w.spare[i]; int64(cap(b)) >= size {
			w.spare[i] = w.spare[len(w.spare)-1]
			w.spare = w.spare[:len(w.spare)-1]
			return b[:size]
		}
	}
	return make([]byte, size)
}

var errElement = errors.New("lies outside of its page")

func (w *pageWalk) branch(e []byte, depth int) error {
	le := binary.LittleEndian
	if uint64(le.Uint32(e))+uint64(le.Uint32(e[4:])) > uint64(len(e)) {
		return errElement
	}
	return w.visit(le.Uint64(e[8:]), depth+1)
}

func (w *pageWalk) leaf(e []byte, depth int) error {
	le := binary.LittleEndian
	pos, key, value := uint64(le.Uint32(e[4:])), uint64(le.Uint32(e[8:])), uint64(le.Uint32(e[12:]))
	if pos+key+value > uint64(len(e)) {
		return errElement
	}
	if le.Uint32(e)&bucketLeaf == 0 {
		return nil
	}
	return w.bucket(e[pos+key:pos+key+value], depth)
}

// bucket follows a bucket's root; root 0 means that its one page lies inline.
func (w *pageWalk) bucket(b []byte, depth int) error {
	const header = 16 // root page u64, sequence u64
	if len(b) < header {
		return errElement
	}
	if root := binary.LittleEndian.Uint64(b); root != 0 {
		return w.visit(root, depth+1)
	}
	inline := b[header:]
	if len(inline) < pageHeader {
		return errElement
	}
	count := int(binary.LittleEndian.Uint16(inline[10:]))
	if binary.LittleEndian.Uint16(inline[8:]) != leafPage || pageHeader+count*pageElement > len(inline) {
		return errElement
	}
	for i := range count {
		e := inline[pageHeader+i*pageElement:]
		if binary.LittleEndian.Uint32(e)&bucketLeaf != 0 {
			return errors.New("a bucket in an inline bucket")
		}
		if err := w.leaf(e, depth); err != nil {
			return err
		}
	}
	return nil
}
