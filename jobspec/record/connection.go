package record

// Connection is what a run reached outside, through the proxy or a forward: one
// row for each host, address and rule.
type Connection struct {
	Host     string `json:"host"`
	Port     int64  `json:"port"`
	Address  string `json:"address"`  // that was connected to; absent behind an upstream
	Upstream string `json:"upstream"` // who connected for us and judged the address
	Count    int64  `json:"count"`
	BytesIn  int64  `json:"bytes_in"` // seen from the job
	BytesOut int64  `json:"bytes_out"`
	Rule     string `json:"rule"` // that allowed it
}

// MaxConnections bounds the rows of one record. What is beyond them is counted in
// the last one, whose host is OtherHosts.
const (
	MaxConnections = 20
	OtherHosts     = "and others"
)
