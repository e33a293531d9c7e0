package escape

import (
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Order is what the program of attempts reads from its standard input.
type Order struct {
	Where   Where             `json:"where"`
	Targets map[string]string `json:"targets"`
	Only    []string          `json:"only"` // ids of the attempts to make
}

// Attempts lists the attempts of the order.
func (o Order) Attempts() []Attempt {
	return slices.DeleteFunc(Select(o.Where), func(a Attempt) bool { return !slices.Contains(o.Only, a.ID) })
}

// Orders divides attempts among as many runs as are needed for each denial to
// stand in the record by itself: that of a run has room for 32 different ones.
func Orders(w Where, all []Attempt, targets map[string]string) []Order {
	const most = 30
	var orders []Order
	var expected []jobspec.ExpectedDenial
	for _, a := range all {
		if e := a.denial(targets); a.Code != "" && !slices.Contains(expected, e) {
			expected = append(expected, e)
		}
		if len(orders) == 0 || len(expected) > most {
			orders = append(orders, Order{Where: w, Targets: targets})
			expected = slices.DeleteFunc(expected[max(len(expected)-1, 0):], func(e jobspec.ExpectedDenial) bool { return e != a.denial(targets) })
		}
		last := &orders[len(orders)-1]
		last.Only = append(last.Only, a.ID)
	}
	return orders
}

// Expected are the denials that a run of the order expects: with them it
// succeeds, and anything else that is denied makes it denied.
func (o Order) Expected() []jobspec.ExpectedDenial {
	var list []jobspec.ExpectedDenial
	for _, a := range o.Attempts() {
		if e := a.denial(o.Targets); a.Code != "" && !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list
}

// denial is the attempt's event with the targets put in.
func (a Attempt) denial(targets map[string]string) jobspec.ExpectedDenial {
	text := a.Target
	for name, value := range targets {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return jobspec.ExpectedDenial{Code: a.Code, Target: text}
}
