package runner

import (
	"fmt"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec/record"
)

func TestConnectionsAreCountedInBoundedRows(t *testing.T) {
	var c Connections
	for i := range 100 {
		for range 2 {
			c.Add(record.Connection{Host: fmt.Sprintf("h%d.org", i), Port: 443, Address: "1.2.3.4", Count: 1, BytesIn: 10, BytesOut: 1, Rule: "net.allow *.org:443"})
		}
	}
	c.Add(record.Connection{Host: "h0.org", Port: 443, Address: "1.2.3.5", Count: 1, Rule: "net.allow *.org:443"})
	var end record.End
	c.Into(&end)
	if len(end.Connections) != record.MaxConnections {
		t.Fatal(len(end.Connections))
	}
	total, first, last := record.Connection{}, end.Connections[0], end.Connections[record.MaxConnections-1]
	for _, x := range end.Connections {
		total.Count += x.Count
		total.BytesIn += x.BytesIn
		total.BytesOut += x.BytesOut
	}
	if total.Count != 201 || total.BytesIn != 2000 || total.BytesOut != 200 {
		t.Errorf("%+v", total)
	}
	if first.Host != "h0.org" || first.Count != 2 || last.Host != record.OtherHosts || last.Count != 201-2*(record.MaxConnections-1) || last.Address != "" {
		t.Errorf("%+v %+v", first, last)
	}
}
