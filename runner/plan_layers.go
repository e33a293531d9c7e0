package runner

import (
	"fmt"
	"slices"

	"github.com/sbxcron/sbxcron/runner/stub"
)

// Layers lists what the rows of a table measure, in the order of their first
// measurement: what a record may say that was in force.
func Layers(t *stub.Table, m Machine) []string {
	var list []string
	for _, r := range t.Rows() {
		name := r.Layer
		if name == LayerLandlock {
			name = fmt.Sprintf("%s/%d", name, m.LandlockABI)
		}
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
