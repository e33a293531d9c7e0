package hear

import (
	"fmt"
	"os"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
)

// drainTime bounds the reading of what still lies in the pipes when the tree is
// gone. Nobody can hold their other ends then; the bound is for what nobody
// thought of.
const drainTime = 10 * time.Second

// Stream is one output of a run that is being read.
type Stream struct {
	From    *os.File
	Drained <-chan struct{} // closed when all was read
	To      *runner.Capture
}

// Drain waits until the streams of a run whose tree is gone are read, and puts what
// was kept into its end.
func Drain(end *record.End, streams ...Stream) {
	limit := time.Now().Add(drainTime)
	for _, s := range streams {
		if err := s.From.SetReadDeadline(limit); err != nil {
			end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeInternal, Detail: fmt.Sprintf("drain output: %v", err)})
		}
		<-s.Drained
		kept, err := s.To.Finish()
		if err != nil {
			end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeSbxResource, Target: kept.Stream, Detail: err.Error()})
		}
		end.Outputs = append(end.Outputs, kept)
	}
}
