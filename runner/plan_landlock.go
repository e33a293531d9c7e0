package runner

import "encoding/binary"

// Landlock access rights on files (linux/landlock.h).
const (
	llExecute    = 1 << 0
	llWriteFile  = 1 << 1
	llReadFile   = 1 << 2
	llReadDir    = 1 << 3
	llRemoveDir  = 1 << 4
	llRemoveFile = 1 << 5
	llMakeChar   = 1 << 6
	llMakeDir    = 1 << 7
	llMakeReg    = 1 << 8
	llMakeSock   = 1 << 9
	llMakeFifo   = 1 << 10
	llMakeBlock  = 1 << 11
	llMakeSym    = 1 << 12
	llRefer      = 1 << 13 // ABI 2: rename and link between directories
	llTruncate   = 1 << 14 // ABI 3
	llIoctlDev   = 1 << 15 // ABI 5
)

// LandlockFloor is the oldest ABI that a run accepts: without ABI 2 no file can
// be moved between directories at all.
const LandlockFloor = 2

// landlockNewest is the newest ABI whose rights are used here. What ABI 7 adds are
// flags for the audit log; without them the kernel logs the refusals of the
// stub's own program alone and none after its execve (landlock_restrict_self(2)),
// so a job can neither flood that log nor do anything else by being refused.
const landlockNewest = 6

// handled are the file rights that an ABI knows: all of them are denied unless
// granted.
func handled(abi int) uint64 {
	all := uint64(llRefer<<1 - 1)
	if abi >= 3 {
		all |= llTruncate
	}
	if abi >= 5 {
		all |= llIoctlDev
	}
	return all
}

// bits are the rights as the kernel counts them. Nobody may make device nodes.
func (r Right) bits(abi int) uint64 {
	change := uint64(llWriteFile | llTruncate)
	tree := uint64(llRemoveDir | llRemoveFile | llMakeDir | llMakeReg | llMakeFifo | llMakeSym | llRefer)
	bits := uint64(0)
	switch r {
	case List:
		bits = llReadDir
	case Read:
		bits = llExecute | llReadFile | llReadDir
	case ReadFile:
		bits = llExecute | llReadFile
	case Devices:
		bits = llReadFile | llReadDir | llWriteFile | llTruncate | llIoctlDev
	case Write:
		bits = llExecute | llReadFile | llReadDir | change | tree
	case WriteFile:
		bits = llExecute | llReadFile | change
	case Tell:
		bits = llWriteFile
	case Node:
		bits = llReadFile | llWriteFile | llTruncate | llIoctlDev
	case Private:
		bits = llExecute | llReadFile | llReadDir | change | tree | llMakeSock
	}
	return bits & handled(abi)
}

// rulesetAttr is struct landlock_ruleset_attr, as long as the ABI knows it:
// from ABI 4 no TCP port may be bound or reached, from ABI 6 neither abstract
// sockets nor signals reach out of the job.
func rulesetAttr(abi int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, handled(abi))
	if abi >= 4 {
		b = binary.LittleEndian.AppendUint64(b, 1<<0|1<<1)
	}
	if abi >= 6 {
		b = binary.LittleEndian.AppendUint64(b, 1<<0|1<<1)
	}
	return b
}

// pathBeneathAttr is struct landlock_path_beneath_attr, which is packed.
func pathBeneathAttr(bits uint64, fd uint32) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, bits), fd)
}
