package scheduler

import (
	"hash/maphash"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// itemRoom hands out items from blocks: a block costs one allocation and an item
// nothing beyond itself. What is given back is used again before a new block is.
type itemRoom struct {
	block []item  // what is left of the newest block
	free  []*item // given back
}

const itemBlock = 256

func (r *itemRoom) take() *item {
	if n := len(r.free); n > 0 {
		it := r.free[n-1]
		r.free = r.free[:n-1]
		return it
	}
	if len(r.block) == 0 {
		r.block = make([]item, itemBlock)
	}
	it := &r.block[0]
	r.block = r.block[1:]
	return it
}

func (r *itemRoom) giveBack(it *item) {
	*it = item{} // lets go of the name and the calendar
	r.free = append(r.free, it)
}

// itemIndex finds items by the name of their job. It is a table with linear
// probing over pointers, since the name lies in the item already: a map would hold
// each a second time, which for a million jobs is 40 MB. Beside each pointer stand
// eight bits of the name's hash: a search looks at no other item than its own but for
// one in 256. The zero value is empty.
type itemIndex struct {
	seed  maphash.Seed
	slots []*item // a power of two, at most three quarters full
	tags  []uint8 // of the slots that are used
	n     int
}

// home is where the search for a name begins, and its tag.
func (x *itemIndex) home(job jobspec.Name) (slot int, tag uint8) {
	h := maphash.String(x.seed, string(job))
	return int(h & uint64(len(x.slots)-1)), uint8(h >> 56)
}

// place is the slot of a name, or the free one where it belongs, and its tag.
func (x *itemIndex) place(job jobspec.Name) (slot int, tag uint8) {
	i, tag := x.home(job)
	for x.slots[i] != nil && (x.tags[i] != tag || x.slots[i].job != job) {
		i = (i + 1) & (len(x.slots) - 1)
	}
	return i, tag
}

// find gives the item of a job, or nil.
func (x *itemIndex) find(job jobspec.Name) *item {
	if x.n == 0 {
		return nil
	}
	i, _ := x.place(job)
	return x.slots[i]
}

// free is the slot for a job that is not there, and its tag; false where the job is.
func (x *itemIndex) free(job jobspec.Name) (slot int, tag uint8, ok bool) {
	if 4*(x.n+1) > 3*len(x.slots) {
		x.grow(2 * len(x.slots))
	}
	slot, tag = x.place(job)
	return slot, tag, x.slots[slot] == nil
}

// fill puts an item into the slot that free gave for its job; nothing came between.
func (x *itemIndex) fill(slot int, tag uint8, it *item) {
	x.slots[slot], x.tags[slot] = it, tag
	x.n++
}

func (x *itemIndex) put(it *item) {
	i, tag := x.place(it.job)
	x.slots[i], x.tags[i] = it, tag
}

// grow makes a table of n slots, a power of two.
func (x *itemIndex) grow(n int) {
	old := x.slots
	if old == nil {
		x.seed = maphash.MakeSeed()
	}
	n = max(16, n)
	x.slots, x.tags = make([]*item, n), make([]uint8, n)
	for _, it := range old {
		if it != nil {
			x.put(it)
		}
	}
}

// expect makes room for n items in all.
func (x *itemIndex) expect(n int) {
	slots := 16
	for 3*slots < 4*n {
		slots *= 2
	}
	if slots > len(x.slots) {
		x.grow(slots)
	}
}

// remove takes an item out and moves up those behind it that the hole would
// otherwise hide.
func (x *itemIndex) remove(it *item) {
	hole, _ := x.place(it.job)
	mask := len(x.slots) - 1
	for i := (hole + 1) & mask; x.slots[i] != nil; i = (i + 1) & mask {
		// An item may fill the hole where its search passes the hole on its way.
		home, tag := x.home(x.slots[i].job)
		if (i-home)&mask >= (i-hole)&mask {
			x.slots[hole], x.tags[hole], hole = x.slots[i], tag, i
		}
	}
	x.slots[hole] = nil
	x.n--
}

// shared names a calendar that all jobs with this text and zone use.
type shared struct{ cron, zone string }

// calendars are those in use. A shared one that nobody uses any more is forgotten,
// so that the table of a service that runs for years holds no schedule of the past.
// The zero value is empty.
type calendars struct{ byName map[shared]*sharing }

// sharing is a calendar that several jobs use, before the jitter of each.
type sharing struct {
	name shared
	cal  *calendar.Calendar
	n    int
}

// take gives the calendar of an entry, shifted by the entry's own jitter. The second
// value is to be given back; nil for a calendar that is nobody else's.
func (c *calendars) take(e Entry) (*calendar.Calendar, *sharing, error) {
	cal, use, err := c.base(e)
	if err != nil {
		return nil, nil, err
	}
	return cal.Shifted(calendar.Jitter(e.Schedule, e.Op)), use, nil
}

// base is the calendar of an entry before its jitter, which many entries share.
func (c *calendars) base(e Entry) (*calendar.Calendar, *sharing, error) {
	name := shared{e.Schedule.Cron, e.Schedule.Timezone}
	if use, ok := c.byName[name]; ok && name.cron != "" {
		use.n++
		return use.cal, use, nil
	}
	cal, err := calendar.FromSpec(e.Schedule, e.Anchor)
	if err != nil || name.cron == "" {
		return cal, nil, err // an interval is counted from its own op, and is nobody else's
	}
	if c.byName == nil {
		c.byName = map[shared]*sharing{}
	}
	use := &sharing{name, cal, 1}
	c.byName[name] = use
	return cal, use, nil
}

func (c *calendars) giveBack(use *sharing) {
	if use == nil {
		return
	}
	if use.n--; use.n == 0 {
		delete(c.byName, use.name)
	}
}
