package cmd_test

import (
	"regexp"
	"strings"
	"testing"
)

// caseNumbers are the bug reports of other programs that are tried on this one.
const caseNumbers = `1 2 4 5 7 8 10 11 13 14 16 17 19 20 22 23 25 26 28 28b 30
31 33 34 36 37 39 40 42 43 45 46 48 49 51 52 54 55
57 58 60 61 63 64 66 67 69 70 72 73
75 76 78 79 81 82 84 85 87 88 90 91 93 94 96 97 99
100 102 103 105 105b 105d 106 107b 107c 108 109 111 112 114 115 117 118 120 121 123 124`

// elsewhere are those that are shown by a test that was there for another reason.
var elsewhere = []struct{ number, test, why string }{
	{"28b", "cmd/internal/e2e: TestControls/nothing is learned from an answer", "an answer that is used for other code"},
	{"63", "cmd/internal/e2e: TestSwapRacesNeverRunOtherBytes", "a check, then a pause before the start, while the file changes"},
	{"64", "runner/bwrap: TestBackendPassesTheSuite/a program that is replaced after hashing runs as it was", "a program that is replaced between digest and start"},
	{"69", "cmd/internal/e2e: TestTheShippedProgramReadsFewVariables", "no editor is started, so EDITOR adds no operands"},
	{"107c", "cmd/internal/e2e: TestMisconfig/misconfig_1", "what one interpreter is refused, another one is refused, too"},
	{"109", "jobspec: TestAPanicDenies", "a check that fails denies"},
	{"114", "runner/bwrap: TestBackendPassesTheSuite/a denial makes a run that ends with 0 denied", "exit status 0 after a denial"},
	{"123", "runner/bwrap: TestBackendPassesTheSuite/cwd is the bound directory", "another folder mounted in place of the one that was meant"},
	{"123", "runner/bwrap: TestBackendPassesTheSuite/F25 a cwd that became a link is not followed", "another folder mounted in place of the one that was meant"},
}

func TestCasesShownElsewhereAreShown(t *testing.T) {
	for _, c := range elsewhere {
		if err := findTest(c.test); err != nil {
			t.Errorf("case %s, %s: %v", c.number, c.why, err)
		}
	}
}

// Every other report is a row or a subtest that begins with its number, or with
// several; a plus behind it marks what must not be refused.
func TestEveryCaseHasItsTest(t *testing.T) {
	shown := map[string]bool{}
	for _, c := range elsewhere {
		shown[c.number] = true
	}
	row := regexp.MustCompile(`(?m)^\s*(?:t\.Run\(|\{)"((?:[0-9]+[a-d]?\+?[ "])+)`)
	report := regexp.MustCompile(`(?m)^// Report ([0-9]+[a-d]?): `)
	for _, pkg := range []string{"jobspec", "cmd/internal/e2e"} {
		text, err := sources(pkg, "_test.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range append(row.FindAllStringSubmatch(text, -1), report.FindAllStringSubmatch(text, -1)...) {
			for _, number := range strings.Fields(strings.NewReplacer(`"`, " ", "+", " ").Replace(m[1])) {
				shown[number] = true
			}
		}
	}
	numbers := strings.Fields(caseNumbers)
	for _, number := range numbers {
		if !shown[number] {
			t.Errorf("no test shows case %s", number)
		}
	}
	if len(numbers) != 88 {
		t.Errorf("%d cases", len(numbers))
	}
}
