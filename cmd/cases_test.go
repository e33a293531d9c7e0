package cmd_test

import "testing"

// Bug reports of other programs have a subtest with their number, in
// cmd/internal/e2e (policyrows_test.go, policylayers_test.go, unattended_test.go).
// These are shown by a test that was there for another reason.
func TestCasesShownElsewhereAreShown(t *testing.T) {
	for _, c := range []struct{ number, test, why string }{
		{"63", "cmd/internal/e2e: TestSwapRacesNeverRunOtherBytes", "a check, then a pause before the start, while the file changes"},
		{"64", "runner/bwrap: TestBackendPassesTheSuite/a program that is replaced after hashing runs as it was", "a program that is replaced between digest and start"},
		{"69", "cmd/internal/e2e: TestTheShippedProgramReadsFewVariables", "no editor is started, so EDITOR adds no operands"},
		{"107c", "cmd/internal/e2e: TestMisconfig/misconfig_1", "what one interpreter is refused, another one is refused, too"},
		{"109", "jobspec: TestAPanicDenies", "a check that fails denies"},
		{"114", "runner/bwrap: TestBackendPassesTheSuite/a denial makes a run that ends with 0 denied", "exit status 0 after a denial"},
		{"123", "runner/bwrap: TestBackendPassesTheSuite/cwd is the bound directory", "another folder mounted in place of the one that was meant"},
		{"123", "runner/bwrap: TestBackendPassesTheSuite/F25 a cwd that became a link is not followed", "another folder mounted in place of the one that was meant"},
	} {
		if err := findTest(c.test); err != nil {
			t.Errorf("case %s, %s: %v", c.number, c.why, err)
		}
	}
}
