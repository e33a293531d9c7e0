package jobspec

import "github.com/sbxcron/sbxcron/signing/statement"

// Signed is an op that somebody signed: the bytes were verified first and
// decoded after. The zero value is no op and reaches nothing.
type Signed struct {
	op *Op
	st statement.Statement
}

// ReadSigned decodes a verified statement. It refuses a statement that no
// verifier made, bytes that are not canonical, a principal other than the one
// that the trust file gives the key, and a namespace that the op may not use.
func ReadSigned(st statement.Statement) (Signed, error) {
	if !st.Valid() {
		return Signed{}, &OpError{Reason: CodeIdentityUnproven, Detail: "the bytes were not verified"}
	}
	op, err := DecodeOp(st.Bytes())
	if err != nil {
		return Signed{}, err
	}
	if string(op.Principal) != st.Principal() {
		return Signed{}, &OpError{Reason: CodeKeyNotForPrincipal, Seq: op.Seq, Detail: "the key belongs to another principal"}
	}
	if !op.mayUse(st.Namespace()) {
		return Signed{}, op.refuse(CodeNamespaceMismatch, "action %s was signed in namespace %q", op.Action, st.Namespace())
	}
	return Signed{op: op, st: st}, nil
}

// mayUse reports whether an op of this action can be signed in the namespace at
// all. Which of the two a disable or remove needs depends on whose job it is,
// which View.Check knows.
func (op *Op) mayUse(namespace string) bool {
	switch op.Action {
	case Genesis:
		return namespace == RootNamespace
	case Add, Replace, Enable:
		return op.Tier != NoTier && op.Net != NoNet && namespace == JobNamespace(op.Tier, op.Net)
	case Attest:
		return namespace == ManageNamespace
	case Disable, Remove:
		return namespace == ManageNamespace || namespace == RootNamespace
	default:
		return false
	}
}

// Valid reports whether s holds an op.
func (s Signed) Valid() bool { return s.op != nil }

// Op returns the decoded op, which the caller must not change.
func (s Signed) Op() *Op { return s.op }

// Statement returns the verified bytes.
func (s Signed) Statement() statement.Statement { return s.st }

// Digest is the identity of the op.
func (s Signed) Digest() Digest { return Digest(s.st.Digest()) }
