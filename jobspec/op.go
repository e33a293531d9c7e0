package jobspec

import (
	"fmt"

	"github.com/sbxcron/sbxcron/jobspec/canon"
)

// Bounds of an op. Bytes above MaxOpBytes are not even hashed.
const (
	OpType         = "sbxcron.op/v1"
	MaxOpBytes     = 256 << 10
	MaxScriptBytes = 64 << 10
	MaxArgBytes    = 128<<10 - 1 // one argument, as execve(2) limits it
	MaxArgvBytes   = 192 << 10   // argv and environment together
)

// Action says what an op does. An unknown action refuses the whole chain.
type Action string

// The actions of this version. The words rebase and settings are reserved by the
// design and unknown until they are built.
const (
	Genesis Action = "genesis"
	Add     Action = "add"
	Replace Action = "replace"
	Disable Action = "disable"
	Enable  Action = "enable"
	Remove  Action = "remove"
	Attest  Action = "attest" // says nothing but that this checkpoint was seen
)

// Op is one signed statement about a job, or the genesis of a chain. Its
// canonical bytes (package canon) are what the owner signs; its identity is the
// SHA-256 of those bytes. Members stand in signing order.
type Op struct {
	Type        string       `json:"type"`
	Host        HostID       `json:"host"`
	Seq         int64        `json:"seq"`  // absent in genesis, else previous + 1
	Prev        Digest       `json:"prev"` // digest of the previous op; absent in genesis
	Action      Action       `json:"action"`
	Job         Name         `json:"job"`
	Revision    int64        `json:"revision"`     // rises by one with each op about a job, never restarts
	Created     Instant      `json:"created"`      //
	ApplyBefore Instant      `json:"apply_before"` //
	Principal   Principal    `json:"principal"`    // who the signer claims to be; checked against the trust file
	Tier        Tier         `json:"tier"`         // add, replace, enable: what will then be in force
	Net         Net          `json:"net"`
	Spec        *Spec        `json:"spec"`   // add and replace
	Target      Digest       `json:"target"` // enable: digest of the op that is put back in force
	Root        *GenesisBody `json:"genesis"`
	Checkpoint  string       `json:"checkpoint"` // latest checkpoint of the ledger that the owner saw; absent where there is none yet
}

// GenesisBody is what genesis carries: the host's audit key and the trust files
// that were in force.
type GenesisBody struct {
	AuditKey       string `json:"audit_key"` // verifier key of the checkpoints, in the form of x/mod/sumdb/note
	AllowedSigners Digest `json:"allowed_signers"`
	RevokedKeys    Digest `json:"revoked_keys"`
}

// Encode returns the canonical bytes of op.
func (op *Op) Encode() ([]byte, error) {
	b, err := canon.Marshal(op)
	if err != nil {
		return nil, fmt.Errorf("encode op: %w", err)
	}
	if len(b) > MaxOpBytes {
		return nil, fmt.Errorf("encode op: %d bytes, at most %d can be signed", len(b), MaxOpBytes)
	}
	return b, nil
}

// DecodeOp reads canonical bytes. The result is not verified: it says what the
// bytes say, not that anyone signed them. Use it to choose what to verify and to
// show a draft; authority comes from a statement only (see Signed).
func DecodeOp(b []byte) (*Op, error) {
	var op Op
	if err := canon.Unmarshal(b, &op, MaxOpBytes); err != nil {
		return nil, &OpError{Reason: CodeSpecMalformed, Detail: err.Error()}
	}
	if op.Type != OpType {
		return nil, &OpError{Reason: CodeSpecSchemaUnsupported, Detail: fmt.Sprintf("type %q", op.Type)}
	}
	return &op, nil
}

// OpError refuses an op for what it says.
type OpError struct {
	Reason Code
	Seq    int64
	Detail string
}

func (e *OpError) Error() string { return fmt.Sprintf("op %d: %s", e.Seq, e.Detail) }

// Code is the stable reason.
func (e *OpError) Code() string { return string(e.Reason) }
