package main

import (
	"sync/atomic"
	"time"

	"github.com/robfig/cron/v3"
)

// peerLoop is robfig/cron's own runner with jobs that do nothing.
type peerLoop struct {
	runner *cron.Cron
	due    atomic.Int64 // jobs that were due
}

// newPeerLoop parses the texts and adds them, and busy jobs that are due each second.
// It is not started.
func newPeerLoop(texts []string, busy int) (*peerLoop, error) {
	p := &peerLoop{runner: cron.New(cron.WithLocation(time.UTC))}
	for range busy {
		p.runner.Schedule(cron.Every(time.Second), cron.FuncJob(p.run))
	}
	for _, text := range texts {
		if _, err := p.runner.AddFunc(text, p.run); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *peerLoop) run() { p.due.Add(1) }

func (p *peerLoop) ran() int64 { return p.due.Load() }

// start returns once the first timer is armed.
func (p *peerLoop) start() {
	p.runner.Start()
	p.settle()
}

func (p *peerLoop) adder(text string) func() error {
	return func() error {
		_, err := p.runner.AddFunc(text, p.run)
		return err
	}
}

// settle returns once all that was added is in its place: the loop answers nothing
// while it sorts.
func (p *peerLoop) settle() { p.runner.Entries() }
