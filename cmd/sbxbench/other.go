//go:build !linux

package main

import "errors"

var errLinux = errors.New("jobs run on linux only")

func launch(size) ([]Item, error)    { return nil, errLinux }
func burst(size) ([]Item, error)     { return nil, errLinux }
func ontime(size) ([]Item, error)    { return nil, errLinux }
func instant(size) ([]Item, error)   { return nil, errLinux }
func large(size) ([]Item, error)     { return nil, errLinux }
func podman(size) ([]Item, error)    { return nil, errLinux }
func decide(size) ([]Item, error)    { return nil, errLinux }
func starts(size) ([]Item, error)    { return nil, errLinux }
func idle(size) ([]Item, error)      { return nil, errLinux }
func timetable(size) ([]Item, error) { return nil, errLinux }

func loopMain() {}
