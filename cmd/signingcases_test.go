package cmd_test

import (
	"slices"
	"strings"
	"testing"
)

// signingCases are reports about programs that sign, keep and prove.
const signingCases = `1 2 4 5 7 8 10 11 13 14 16 17 19 20 22 23 25 26 28 29 31 32 34 35 37 38 40 41 43 44 46 47 49 50 52 53 55 56 58 59 61 62 64 65`

// signingTests say where each of them is tried.
var signingTests = []struct{ number, test, why string }{
	{"1", "signing: TestFrozenSignaturesAreJudgedAsEver", "a signature of a token without touch"},
	{"1", "signing: TestKeysOfTokensAreRefusedWhateverTheirFlags", "a signature of a token without touch"},
	{"2", "signing: TestKeysOfTokensAreRefusedWhateverTheirFlags", "stock ssh-keygen takes what ours refuses"},
	{"4", "signing: TestAnybodySignsForKeysOfSmallOrder", "keys for which anybody signs"},
	{"4", "signing: TestEd25519KeysHaveOneEncoding", "keys for which anybody signs, spelled otherwise"},
	{"5", "signing: TestSecondEncodingOfRIsRefused", "a second spelling of a good signature"},
	{"5", "signing: TestChangedSignaturesAreJudgedStrictlyBesideTheirPeers", "a second spelling of a good signature"},
	{"7", "signing: TestChangedSignaturesAreJudgedStrictlyBesideTheirPeers", "bytes behind a signature, another version"},
	{"8", "signing: TestArmorIsNotTheStoredForm", "text around a signature"},
	{"8", "cmd/internal/evidence: TestTamperingIsNamed", "text stands behind a signature"},
	{"10", "cmd/internal/e2e: TestOnlyTheTableOfTheDesignIsAccepted", "the same bytes, signed for something else"},
	{"11", "signing: TestSamePointUnderAnotherTypeIsAnotherKey", "one point as two types of key"},
	{"13", "signing: TestOddTrustFilesAreRefusedWholeAndNameTheLine", "a key on two lines"},
	{"14", "signing: TestOddTrustFilesAreRefusedWholeAndNameTheLine", "odd lines, a mark of order, line ends of Windows"},
	{"16", "signing: TestOddTrustFilesAreRefusedWholeAndNameTheLine", "text before a key"},
	{"16", "signing/keysource: TestOddPublicKeyFilesAreRefused", "text before a key"},
	{"17", "signing: TestHugeRSAKeyInASignatureIsRefusedUnseen", "a key that takes minutes to check"},
	{"19", "cmd: TestTheServiceHasNoPartThatReadsOwnersKeys", "no agent of ours holds keys"},
	{"20", "store: TestMissingPartsHaveTheirOwnNames", "no pin"},
	{"20", "store: TestOlderDatabasePutBackIsARollback", "an older chain"},
	{"22", "jobspec: TestAnOpMustExtendTheHead", "a number far ahead"},
	{"23", "jobspec: TestAnOldSpecCannotBeEnabled", "a new entry that points at an older spec"},
	{"23", "cmd/internal/e2e: TestAnOlderPolicyPutBackRunsNothing", "an older policy"},
	{"25", "cmd/internal/e2e: TestSignedBytesThatTwoReadersCouldReadDifferentlyAreRefused", "names that differ in case or are unknown"},
	{"26", "cmd/internal/e2e: TestSignedBytesThatTwoReadersCouldReadDifferentlyAreRefused", "a name twice, at each level"},
	{"28", "jobspec/canon: TestOtherSpellingsAreRefused", "broken texts"},
	{"28", "jobspec: TestNoTextOfASpecHidesFromItsSummary", "text that turns text round"},
	{"29", "jobspec/canon: TestWhatTheFormCannotHold", "names of variables that sort in two ways"},
	{"31", "cmd/internal/e2e: TestEditedOutputAndIndexAreFoundByAnAudit", "an edited copy beside what was signed"},
	{"31", "store: TestDerivedAnswersAreThoseOfTheLedgerWhateverBecomesOfTheIndex", "an edited copy beside what was signed"},
	{"32", "cmd/internal/engine: TestARunIsProvenToWhoeverBringsAnAnchor/another run's name", "a good proof of another run"},
	{"34", "signing: TestVerifyNamesWhatIsWrong", "no signature, an empty one"},
	{"34", "cmd/internal/evidence: TestTamperingIsNamed/a second signature is bad", "several signatures"},
	{"34", "cmd/internal/evidence: TestTamperingIsNamed/an op has more signatures than any needs", "a thousand signatures"},
	{"35", "jobspec: TestAnotherTypeIsRefusedByName", "another version, so that checks are left out"},
	{"37", "store: TestDatabaseOfAnotherHostIsRefused", "another host's chain"},
	{"37", "cmd/internal/e2e: TestChangedHostIDRunsNothing", "another host's chain"},
	{"38", "store/merkle: TestEveryProofOfASmallTreeHoldsAndNoOther", "proofs for other places and sizes"},
	{"38", "store/merkle: FuzzProofs", "changed, long and empty proofs"},
	{"40", "cmd/internal/evidence: TestTamperingIsNamed/a thief of the running key changes a line of an older epoch", "old lines signed with today's key"},
	{"41", "cmd/internal/cli: TestAuditVerifyIsNeverZeroOnNothingChecked", "nothing to check"},
	{"41", "cmd/internal/evidence: TestABundleOfOtherKeysNeverPasses", "the wrong key"},
	{"43", "cmd/internal/evidence: TestTamperingIsNamed/an output is edited", "an edited output"},
	{"44", "cmd/internal/e2e: TestRemovedJobKeepsItsHistoryAndItsNameItsRevision", "a name that is used again"},
	{"46", "cmd/internal/cli: TestForeignTextIsEscapedInEveryLineForPeople", "text that drives a terminal"},
	{"46", "cmd/internal/retell: TestWhatAReportIsMadeOfIsNoMarkupAndNoControl", "text that drives a terminal or a browser"},
	{"47", "cmd/internal/retell: TestCSVIsSafeForSpreadsheets", "formulas"},
	{"49", "store: TestDamagedDatabaseFileIsRefusedAndNeverMadeAnew", "zeroed and cut databases"},
	{"49", "store: TestNoDamageToADatabaseEndsTheProcess", "pages that end other programs"},
	{"50", "cmd/internal/e2e: TestInterruptedInitSaysSoAndResumes", "killed during init"},
	{"52", "cmd/internal/e2e: TestSecondServiceIsRefusedWithTheFirstOnesPid", "a second service"},
	{"52", "cmd/internal/e2e: TestStrayLockOnTheDatabaseIsAnsweredInTime", "a lock of somebody else"},
	{"52", "cmd/internal/e2e: TestHeldLockIsAnsweredWithTheHolderWithinASecond", "a command while another works"},
	{"53", "store: TestAnAppendCostsTheSameWhateverWasPruned", "nine of ten removed, and then load"},
	{"55", "cmd/internal/cli: TestABackupIsNotWrittenOverAFile", "a backup to a file that is there"},
	{"56", "store: TestCommitErrorIsFailStop", "a sync that fails"},
	{"56", "store: TestAppendErrorIsFailStop", "a sync that fails"},
	{"58", "cmd/internal/e2e: TestSurroundingsOfTheCallerChangeNoVerification", "another ssh-keygen in PATH"},
	{"59", "cmd/internal/e2e: TestVerdictInsideAnOpIsOnlyText", "a verdict inside of signed text"},
	{"61", "cmd/internal/daemon: TestNoRouteAnswersAPeerFromAnotherPidNamespace", "a number of a process that is used again"},
	{"61", "cmd/internal/client: TestAServerOfAnotherUIDIsRefusedBeforeAByteIsSent", "a number of a process that is used again"},
	{"62", "signing/keysource: TestAgentRefusalsAreExplained", "agents that refuse"},
	{"64", "cmd/internal/e2e: TestAnExpiredApprovalRunsNothing", "an approval that has ended"},
	{"64", "jobspec: TestTheTriggerNamesWhatIsWrong/no expiry", "an approval without an end"},
	{"65", "signing: TestECDSASignaturesWithImpossibleNumbersAreRefused", "signatures of zeros"},
	{"65", "signing: TestChangedSignaturesAreJudgedStrictlyBesideTheirPeers", "signatures of zeros"},
}

func TestEverySigningCaseHasItsTest(t *testing.T) {
	numbers := strings.Fields(signingCases)
	shown := map[string]bool{}
	for _, c := range signingTests {
		shown[c.number] = true
		if !slices.Contains(numbers, c.number) {
			t.Errorf("there is no case %s", c.number)
		}
		if err := findTest(c.test); err != nil {
			t.Errorf("case %s, %s: %v", c.number, c.why, err)
		}
	}
	for _, number := range numbers {
		if !shown[number] {
			t.Errorf("no test shows case %s", number)
		}
	}
	if len(numbers) != 44 {
		t.Errorf("%d cases", len(numbers))
	}
}
