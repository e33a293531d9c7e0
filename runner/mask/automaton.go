package mask

// automaton finds the longest pattern that ends at each byte. Nodes are numbers;
// node 0 is the root, and as a child or sibling it means none. The texts are
// chains for the most part, so children are lists and not tables.
type automaton struct {
	root  [256]int32 // children of the root
	label []byte     // the byte that leads to a node
	child []int32
	next  []int32 // sibling
	fail  []int32 // the longest proper suffix that begins a pattern, too
	depth []int32
	found []int32 // length of the longest pattern that ends here, 0 for none
	owner []int32 // whose pattern that is
}

func newAutomaton(patterns []pattern) *automaton {
	a := &automaton{}
	a.node(0, 0)
	for _, p := range patterns {
		a.insert(p)
	}
	a.link()
	return a
}

func (a *automaton) node(label byte, depth int32) int32 {
	a.label = append(a.label, label)
	a.child, a.next, a.fail = append(a.child, 0), append(a.next, 0), append(a.fail, 0)
	a.depth, a.found, a.owner = append(a.depth, depth), append(a.found, 0), append(a.owner, 0)
	return int32(len(a.label) - 1)
}

// insert adds a pattern; the first of two equal ones stays.
func (a *automaton) insert(p pattern) {
	at := int32(0)
	for _, c := range p.text {
		to := a.below(at, c)
		if to == 0 {
			to = a.node(c, a.depth[at]+1)
			if at == 0 {
				a.root[c] = to
			} else {
				a.next[to], a.child[at] = a.child[at], to
			}
		}
		at = to
	}
	if a.found[at] == 0 {
		a.found[at], a.owner[at] = a.depth[at], int32(p.owner)
	}
}

func (a *automaton) below(at int32, c byte) int32 {
	if at == 0 {
		return a.root[c]
	}
	n := a.child[at]
	for n != 0 && a.label[n] != c {
		n = a.next[n]
	}
	return n
}

// link finds the suffixes, from the root outwards.
func (a *automaton) link() {
	var queue []int32
	for _, n := range a.root {
		if n != 0 {
			queue = append(queue, n)
		}
	}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		if to := a.fail[at]; a.found[at] == 0 {
			a.found[at], a.owner[at] = a.found[to], a.owner[to]
		}
		for n := a.child[at]; n != 0; n = a.next[n] {
			a.fail[n] = a.move(a.fail[at], a.label[n])
			queue = append(queue, n)
		}
	}
}

// move is the state after one more byte.
func (a *automaton) move(at int32, c byte) int32 {
	for {
		if n := a.below(at, c); n != 0 || at == 0 {
			return n
		}
		at = a.fail[at]
	}
}

// clear forgets the values.
func (a *automaton) clear() {
	clear(a.label)
	clear(a.root[:])
}
