package calendar

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"testing"
	"time"
)

func TestZoneDataIsTheReleaseThatItIsCalled(t *testing.T) {
	const want = "8f55634d05f8bca1f7bc7c69c5933428c69357e0bdf565e5ba224e3f88ff12e8" // 2025c
	sum := sha256.Sum256(zoneinfo)
	if got := hex.EncodeToString(sum[:]); got != want || ZoneDataVersion() != "2025c" {
		t.Errorf("zoneinfo.zip has digest %s, called %s: change both and this test together", got, ZoneDataVersion())
	}
}

func TestEveryEmbeddedZoneLoads(t *testing.T) {
	all, err := zones()
	if err != nil || len(all) < 500 {
		t.Fatalf("%d zones, %v", len(all), err)
	}
	for name := range all {
		if loc, err := Location(name); err != nil || loc.String() != name {
			t.Errorf("%s: %v %v", name, loc, err)
		}
	}
}

func TestZonesThatDependOnTheMachineAreRefused(t *testing.T) {
	for name, hint := range map[string]string{
		"Local": "", "": "", "../../etc/passwd": "", "/etc/localtime": "", "UTC+2": "", "+02:00": "",
		"utc": `write "UTC"`, `"UTC"`: `write "UTC"`, "europe/berlin": `write "Europe/Berlin"`, "Europe": "", "Europe/": "",
		"localtime": "", "posixrules": "", "Factory": "", "CEST": "", "Europe/Berlin\n": "",
	} {
		_, err := Location(name)
		var refused *Error
		if !errors.As(err, &refused) || refused.Hint() == "" || hint != "" && refused.Hint() != hint {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A zone file of the machine that lies about Berlin must not be looked at.
func TestNoZoneFileOfTheMachineIsRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/Europe", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/Europe/Berlin", []byte("TZif"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ZONEINFO", dir)
	t.Setenv("TZ", "Pacific/Apia")
	d, _ := mustParse(t, "30 2 * * *", "Europe/Berlin").Next(at(t, "2026-07-01T12:00:00Z"))
	if got := d.At.UTC().Format(time.RFC3339); got != "2026-07-02T00:30:00Z" {
		t.Errorf("next is %s", got)
	}
}
