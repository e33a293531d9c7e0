//go:build !linux

package main

import "errors"

func launch(int) ([]Item, error) { return nil, errors.New("jobs run on linux only") }
