package calendar

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// zoneinfo is lib/time/zoneinfo.zip of the Go distribution: the compiled IANA
// time zone database, which is in the public domain. It is embedded here and
// not by time/tzdata because time.LoadLocation asks ZONEINFO and the machine's
// files first, so that one signed schedule would mean different instants on
// different machines.
//
//go:embed zoneinfo.zip
var zoneinfo []byte

// zoneDataVersion must be changed together with zoneinfo.zip; a test holds the
// two together by the digest of the file.
const zoneDataVersion = "2025c"

// ZoneDataVersion is the release of the IANA time zone database that all
// instants are computed from. It stands in each record.
func ZoneDataVersion() string { return zoneDataVersion }

// zones maps each IANA name to a loader that parses its data once. The map is
// built at first use and never changes.
var zones = sync.OnceValues(func() (map[string]func() (*zone, error), error) {
	archive, err := zip.NewReader(bytes.NewReader(zoneinfo), int64(len(zoneinfo)))
	if err != nil {
		return nil, fmt.Errorf("read embedded zone data: %w", err)
	}
	all := make(map[string]func() (*zone, error), len(archive.File))
	for _, f := range archive.File {
		if strings.HasSuffix(f.Name, "/") || f.Name == "Factory" {
			continue
		}
		all[f.Name] = sync.OnceValues(func() (*zone, error) { return readZone(f) })
	}
	return all, nil
})

func readZone(f *zip.File) (*zone, error) {
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("read zone %s: %w", f.Name, err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read zone %s: %w", f.Name, err)
	}
	loc, err := time.LoadLocationFromTZData(f.Name, data)
	if err != nil {
		return nil, err
	}
	return newZone(loc), nil
}

// Location returns the zone of an IANA name from the embedded data. Local,
// offsets, paths and names in another case are an *Error.
func Location(name string) (*time.Location, error) {
	z, err := zoneOf(name)
	if err != nil {
		return nil, err
	}
	return z.loc, nil
}

func zoneOf(name string) (*zone, error) {
	all, err := zones()
	if err != nil {
		return nil, err
	}
	load, ok := all[name]
	if !ok {
		return nil, &Error{What: "timezone", Text: name, Detail: "no such zone in the IANA database", Advice: zoneAdvice(name, all)}
	}
	return load()
}

func zoneAdvice[V any](name string, all map[string]V) string {
	if name == "Local" || name == "" {
		return `write the zone's name, such as "Europe/Berlin": what is signed must mean the same on every machine`
	}
	best := ""
	for known := range all {
		if strings.EqualFold(known, strings.Trim(name, `" `)) && (best == "" || known < best) {
			best = known
		}
	}
	if best != "" {
		return fmt.Sprintf("write %q", best)
	}
	return `write an IANA name, such as "Europe/Berlin" or "UTC"; offsets and paths are not zones`
}
