package statement_test

import (
	"testing"

	"github.com/sbxcron/sbxcron/signing/internal/seal"
	"github.com/sbxcron/sbxcron/signing/statement"
)

func TestStatementNeedsAGenuineToken(t *testing.T) {
	if st, err := statement.New(seal.Token{}, []byte("x"), statement.Facts{Principal: "alice"}); err == nil || st.Valid() {
		t.Errorf("zero token: %v, %v", st.Valid(), err)
	}
	if new(statement.Statement).Valid() {
		t.Error("zero statement is valid")
	}
	st, err := statement.New(seal.New(), []byte("x"), statement.Facts{Principal: "alice"})
	if err != nil || !st.Valid() || st.Principal() != "alice" {
		t.Errorf("genuine token: %v, %v", st.Valid(), err)
	}
}
