// Command sbxbench measures sbxcron side by side with a peer, in one run, as
// ratios: absolute times of one machine say little about another.
//
//	sbxbench [--json] [--pairs N] [--burst N] [--turns N] [--jobs N]
//	         [launch|large|podman|burst|ontime|instant|decide|idle|wake|timetable|start ...]
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/sbxcron/sbxcron/cmd/internal/notify/send"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/supervise"
	"github.com/sbxcron/sbxcron/runner/witness"
)

// Item is one comparison. Ours and Peer are medians in Unit; Ratio is the median
// of the ratios of the pairs, with its quartiles.
type Item struct {
	Name     string  `json:"name"`
	Ours     float64 `json:"ours"`
	Peer     float64 `json:"peer"`
	Unit     string  `json:"unit"`
	Ratio    float64 `json:"ratio"`
	Lower    float64 `json:"ratio_lower_quartile"`
	Upper    float64 `json:"ratio_upper_quartile"`
	Pairs    int     `json:"pairs"`
	PeerName string  `json:"peer_name"`
	Absent   string  `json:"absent,omitempty"` // why there is nothing to compare with
}

// size is how much is measured.
type size struct {
	pairs int // interleaved pairs of a launch
	burst int // jobs that are due at once in burst
	turns int // so often
	jobs  int // largest timetable
}

// suites are the measurements by name.
var suites = map[string]func(size) ([]Item, error){
	"launch": launch, "burst": burst, "ontime": ontime, "instant": instant, "large": large, "podman": podman,
	"timetable": whole(timetable, starts), "decide": decide, "idle": idle, "wake": timetable, "start": starts,
}

// whole is a measurement of several.
func whole(suites ...func(size) ([]Item, error)) func(size) ([]Item, error) {
	return func(of size) ([]Item, error) {
		var all []Item
		for _, suite := range suites {
			items, err := suite(of)
			if err != nil {
				return nil, err
			}
			all = append(all, items...)
		}
		return all, nil
	}
}

// order is that of all suites, for a call that names none.
var order = []string{"launch", "large", "podman", "burst", "ontime", "instant", "decide", "idle", "timetable"}

func main() {
	// A child that opens paths as another account, or that answers opens of a run,
	// is this program once more.
	pin.ChildMain()
	supervise.ChildMain()
	witness.ChildMain()
	send.ChildMain()
	loopMain()
	asJSON := flag.Bool("json", false, "print one JSON document")
	pairs := flag.Int("pairs", 300, "interleaved pairs a comparison")
	burst := flag.Int("burst", 200, "jobs that are due at once in burst")
	turns := flag.Int("turns", 3, "minutes of burst, each beside a bare loop")
	jobs := flag.Int("jobs", 1_000_000, "jobs of the largest timetable")
	flag.Parse()
	names := flag.Args()
	if len(names) == 0 {
		names = order
	}
	if err := run(names, size{*pairs, *burst, *turns, *jobs}, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "sbxbench:", err)
		os.Exit(1)
	}
}

func run(names []string, of size, asJSON bool) error {
	var all []Item
	for _, name := range names {
		suite, ok := suites[name]
		if !ok {
			return fmt.Errorf("no measurement %q", name)
		}
		items, err := suite(of)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, items...)
	}
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(struct {
			Schema string `json:"schema"`
			Items  []Item `json:"items"`
		}{"sbxcron.bench/v1", all})
	}
	for _, i := range all {
		if i.Absent != "" {
			fmt.Printf("%-18s absent: %s\n", i.Name, i.Absent)
			continue
		}
		fmt.Printf("%-18s ours %.2f %s, %s %.2f %s: ratio %.2f (quartiles %.2f to %.2f, %d pairs)\n",
			i.Name, i.Ours, i.Unit, i.PeerName, i.Peer, i.Unit, i.Ratio, i.Lower, i.Upper, i.Pairs)
	}
	return nil
}

// compare makes the item of interleaved pairs.
func compare(name, unit, peerName string, ours, peer []float64) Item {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / peer[i]
	}
	return Item{Name: name, Unit: unit, PeerName: peerName, Pairs: len(ours),
		Ours: quantile(ours, 0.5), Peer: quantile(peer, 0.5),
		Ratio: quantile(ratios, 0.5), Lower: quantile(ratios, 0.25), Upper: quantile(ratios, 0.75)}
}

// single makes the item of one figure on each side, taken over n starts.
func single(name, unit, peerName string, ours, peer float64, n int) Item {
	return Item{Name: name, Unit: unit, PeerName: peerName, Pairs: n, Ours: ours, Peer: peer, Ratio: ours / peer, Lower: ours / peer, Upper: ours / peer}
}

func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}
