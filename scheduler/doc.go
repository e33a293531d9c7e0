// Package scheduler decides when a job is due and whether it starts.
//
// It promises:
//
//   - Each due slot is covered by exactly one final row of the ledger, through
//     crashes, clocks that jump and services that were off. A slot is never
//     tried twice: its one durable "started" row is claim and start at once, and
//     a start that nobody saw end is "lost".
//   - Nothing runs without that row. When the ledger cannot take it, the sandbox
//     is taken down unreleased, and no further run starts.
//   - Nothing runs unless the stored bytes were verified at this very trigger and
//     the decision over them was yes. A manual run takes the same road.
//   - A slow, stuck or crashing run delays no other job's record.
//
// It refuses nothing by itself but what time refuses: a slot that is older than
// MissedAfter when it is noticed is missed, a slot of a held job is held, a slot
// of a job that still runs is skipped. A hold needs no signature, since it only
// takes away; nothing here gives a right.
//
// It imports jobspec and its records and declares the small interfaces that it
// needs; cmd fills them. cmd alone may import it.
package scheduler
