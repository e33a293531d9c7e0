package jobspec

// May says in words what a job may do once it runs, line by line.
func May(op *Op) []string {
	if op == nil || op.Spec == nil {
		return nil
	}
	s := op.Spec
	may := []string{"run " + mainCommand(s) + " without anybody there, on its schedule or when an operator asks"}
	may = append(may, "use the system's own programs and libraries, and a private home and tmp that are gone after the run")
	may = append(may, OpensOf(op).Lines()...)
	if op.Net == NetProxy {
		may = append(may, "reach those hosts and no other through a process that runs beside it: with the job's account, and with no key, store or socket of sbxcron")
	}
	for _, c := range s.Credentials {
		may = append(may, "see the value of "+Quote(c.Name)+" in "+c.words())
	}
	if op.Tier == Scratch {
		may = append(may, "write a work folder of its own, which is empty at the start and gone after the run")
	}
	for _, w := range s.Weaker {
		may = append(may, "run with a weaker sandbox: "+weakerWords(w))
	}
	return may
}

// MayNot says in words what the job cannot do, whatever its command is. The
// sandbox holds it to this; each is measured or tested, not hoped for.
func MayNot(op *Op) []string {
	if op == nil || op.Spec == nil {
		return nil
	}
	not := []string{"ask: there is no terminal, and every question gets no at once",
		"get more rights: sudo and set-user-ID programs do nothing for it",
		"see anything else of the machine: sbxcron's own files, keys and socket, other homes, /run or /sys"}
	switch {
	case op.Tier < Workspace && len(op.Spec.Write) == 0:
		not = append(not, "change any file of the machine")
	default:
		not = append(not, "change any file of the machine but those above")
	}
	if op.Net == NetProxy {
		not = append(not, "reach a host that is not named above, or any by another way than the proxy")
	} else {
		not = append(not, "reach any network, this machine's own services included")
	}
	if len(op.Spec.Sockets) == 0 {
		not = append(not, "use a Unix socket")
	}
	if len(op.Spec.Credentials) == 0 {
		not = append(not, "see a credential")
	}
	return append(not, "outlive its run or its timeout")
}

// mainCommand is what would start, quoted.
func mainCommand(s *Spec) string {
	if s.Script != (Script{}) {
		return "its embedded script by " + QuoteAll(append([]string{s.Script.Interpreter}, s.Argv...))
	}
	return QuoteAll(s.Argv)
}
