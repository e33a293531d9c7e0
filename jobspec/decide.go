package jobspec

import (
	"fmt"
	"slices"
)

// The steps of a decision, in their order.
const (
	stepPolicy    = "policy"
	stepIdentity  = "identity"
	stepStructure = "structure"
	stepCeilings  = "ceilings"
	stepCommand   = "command"
	stepAsks      = "asks"
	stepBinding   = "binding"
	stepSandbox   = "sandbox"
	stepAudit     = "audit"
	stepSchedule  = "schedule"
)

const (
	saysYes = "yes"
	saysNo  = "no"
)

// Decide says whether a job may run, and why not. It is pure: the same input
// gives the same decision at add, apply, explain and trigger, and phase is the
// only difference between them:
//
//   - PhaseAdd judges an unsigned candidate and collects the asks.
//   - PhaseApply judges a signed op without looking at files, sandbox or record.
//   - PhaseExplain and PhaseTrigger judge everything; an ask without a bound
//     answer is refused, for nobody is there.
//
// Every step is taken and reports all that it finds, in the order of the steps.
// A job is allowed only when no step found anything and, except at PhaseAdd, a
// verified statement carries it. A defect here denies: a panic becomes the code
// internal.
//
// Rules of the policy are met strictest first: any deny denies, any ask asks.
// A command that no rule matches is allowed, because the owner's signature is
// the consent to it, unless managed_only.commands says that only a rule may
// allow.
func Decide(phase Phase, in Input) (d Decision) {
	defer func() {
		if cause := recover(); cause != nil {
			d = Decision{Checks: append(d.Checks, Check{Step: stepPolicy, Verdict: saysNo, Code: CodeInternal,
				Detail: fmt.Sprintf("the decision could not be made: %v", cause), Remedy: CodeInternal.Remedy()}), Verdicts: Verdicts{No, No, No, No}}
		}
	}()
	j := newJudge(phase, in)
	j.run()
	return j.done()
}

// judge collects what the steps find.
type judge struct {
	phase Phase
	in    Input
	// managed is the policy without the principal's own file, which in.Policy
	// has in it.
	managed *Policy
	op      *Op
	spec    *Spec // nil when the op carries none
	read    *reading
	asks    []Ask
	layer   string   // whose ceiling is being judged, "" outside of that step
	notes   []string // what each record of a run repeats, beside the weaker choices

	checks []Check
	area   *Verdict // the verdict that the step at hand speaks to
	all    Verdicts
	clean  bool // nothing was refused yet
}

func newJudge(phase Phase, in Input) *judge {
	j := &judge{phase: phase, in: in, op: in.Op, clean: true}
	if in.Signed.Valid() {
		j.op = in.Signed.Op() // what was verified, whatever the caller holds beside it
	}
	j.managed = in.Policy
	if j.op != nil {
		j.spec = j.op.Spec
		j.in.Policy = in.Policy.For(j.op.Principal)
	}
	return j
}

// run takes the steps. An op that only takes authority away needs neither policy
// nor sandbox: a broken policy must not keep anybody from stopping a job.
func (j *judge) run() {
	if j.phase < PhaseAdd || j.phase > PhaseTrigger {
		panic(fmt.Sprintf("phase %d is none", j.phase))
	}
	if j.op == nil {
		j.step(stepStructure, &j.all.Identity, func() { j.no(CodeSpecMalformed, "op", "there is no op to judge") })
		return
	}
	reducing := j.phase == PhaseApply && (j.op.Action == Disable || j.op.Action == Remove)
	if !reducing {
		j.step(stepPolicy, &j.all.Capability, j.policy)
	}
	j.step(stepIdentity, &j.all.Identity, j.identity)
	j.step(stepStructure, &j.all.Consent, j.structure)
	if reducing {
		return
	}
	j.step(stepCeilings, &j.all.Capability, j.ceilings)
	if j.spec == nil {
		return
	}
	j.step(stepCommand, &j.all.Capability, j.command)
	j.step(stepAsks, &j.all.Consent, func() { j.openingAsks(); j.consent() })
	j.step(stepBinding, &j.all.Resources, j.binding)
	if j.phase != PhaseApply {
		j.step(stepSandbox, &j.all.Resources, j.sandbox)
		j.step(stepAudit, nil, j.audit)
	}
	j.step(stepSchedule, nil, j.schedule)
}

// step runs one step. A step that finds nothing leaves one good check and, for
// its verdict, a yes that no later finding has to take back.
func (j *judge) step(name string, area *Verdict, judge func()) {
	j.area = area
	before := len(j.checks)
	judge()
	for i := before; i < len(j.checks); i++ {
		j.checks[i].Step = name
	}
	if len(j.checks) > before {
		return
	}
	j.checks = append(j.checks, Check{Step: name, Verdict: saysYes})
	if area != nil && *area == NotChecked {
		*area = Yes
	}
}

// no records a finding of the step at hand.
func (j *judge) no(code Code, target, format string, args ...any) {
	j.finding(Check{Code: code, Target: target, Detail: fmt.Sprintf(format, args...)})
}

func (j *judge) finding(c Check) {
	c.Verdict = saysNo
	if !c.Code.Known() {
		c.Detail = fmt.Sprintf("unknown code %q: %s", c.Code, c.Detail)
		c.Code = CodeInternal
	}
	if c.Remedy == "" {
		c.Remedy = c.Code.Remedy()
	}
	c.Allow = j.allowance(c)
	j.clean = false
	if j.area != nil {
		*j.area = No
	}
	j.checks = append(j.checks, c)
}

// of lets the rest of a step speak to another verdict.
func (j *judge) of(area *Verdict) { j.area = area }

func (j *judge) done() Decision {
	d := Decision{Checks: j.checks, Asks: j.asks, Verdicts: j.all}
	if j.spec != nil {
		d.Weaker = append(d.Weaker, j.spec.Weaker...)
		d.Net = j.netGrant()
		if d.Net.Upstream != "" {
			j.notes = append(j.notes, "net.upstream "+d.Net.Upstream+" judges the addresses of public hosts")
		}
		d.Notes = slices.Compact(j.notes)
	}
	if j.phase == PhaseAdd && d.Verdicts.Identity == Yes {
		d.Verdicts.Identity = NotChecked // nobody has signed yet
	}
	if j.phase == PhaseApply && d.Verdicts.Resources == Yes {
		d.Verdicts.Resources = NotChecked // files are not looked at
	}
	d.allowed = j.clean && len(j.checks) > 0 && (j.phase == PhaseAdd || j.in.Signed.Valid())
	return d
}
