package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// ofARoom is an error as the rooms make them.
type ofARoom struct{ code, hint string }

func (e ofARoom) Error() string { return "it went wrong" }
func (e ofARoom) Code() string  { return e.code }
func (e ofARoom) Hint() string  { return e.hint }

func TestAnErrorKeepsItsCodeAndItsHintAndGetsTheStatusOfTheCode(t *testing.T) {
	own := api.New(jobspec.CodeJobUnknown, "no job")
	for _, c := range []struct {
		err  error
		code jobspec.Code
		hint string
	}{
		{fmt.Errorf("around: %w", ofARoom{string(jobspec.CodeChainBroken), "do this"}), jobspec.CodeChainBroken, "do this"},
		{ofARoom{string(jobspec.CodeChainBroken), ""}, jobspec.CodeChainBroken, jobspec.CodeChainBroken.Remedy()},
		{errors.New("plain"), jobspec.CodeInternal, jobspec.CodeInternal.Remedy()},
		{fmt.Errorf("around: %w", own), jobspec.CodeJobUnknown, own.Help},
	} {
		got := api.Wrap(c.err)
		if got.ErrCode != c.code || got.Hint() != c.hint || got.Exit != c.code.Class().Exit() {
			t.Errorf("%v: code %s, hint %q, exit %d", c.err, got.ErrCode, got.Hint(), got.Exit)
		}
		if got.Exit == 0 {
			t.Errorf("%v ends like a success", c.err)
		}
	}
	if api.Wrap(nil) != nil {
		t.Error("no error became one")
	}
}

func TestTheClassOfAnErrorPicksItsStatusOverTheSocket(t *testing.T) {
	for code, want := range map[jobspec.Code]int{
		jobspec.CodeJobUnknown:       http.StatusNotFound,
		jobspec.CodeRoleInsufficient: http.StatusForbidden,
		jobspec.CodeHeadMoved:        http.StatusConflict,
		jobspec.CodeStoreLocked:      http.StatusConflict,
		jobspec.CodeSigInvalid:       http.StatusUnprocessableEntity,
		jobspec.CodeInternal:         http.StatusUnprocessableEntity,
	} {
		if got := api.New(code, "x").HTTPStatus(); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
}

func TestAReasonIsToldWithWhatIsKnownOfIt(t *testing.T) {
	for want, r := range map[string]api.Reason{
		"/srv: gone":      {Code: jobspec.CodeDriftCwd, Target: "/srv", Detail: "gone"},
		"gone":            {Code: jobspec.CodeDriftCwd, Detail: "gone"},
		"drift_cwd: /srv": {Code: jobspec.CodeDriftCwd, Target: "/srv"},
		"drift_cwd":       {Code: jobspec.CodeDriftCwd},
	} {
		if got := r.Text(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
