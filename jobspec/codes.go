package jobspec

// Code is the reason for a refusal or the name of a denial: a closed list, in
// lower snake case, stable for scripts. The zero value is no reason. Remedy
// gives the one thing to do about it.
type Code string

// Codes: store and identity.
const (
	CodeStoreCorrupt       Code = "store_corrupt"
	CodeStorePerms         Code = "store_perms"
	CodeStoreLocked        Code = "store_locked"
	CodeSigMissing         Code = "sig_missing"
	CodeSigInvalid         Code = "sig_invalid"
	CodeSigAlgUnsupported  Code = "sig_alg_unsupported"
	CodeKeyUnknown         Code = "key_unknown"
	CodeKeyRevoked         Code = "key_revoked"
	CodeKeyExpired         Code = "key_expired"
	CodeKeyNotYetValid     Code = "key_not_yet_valid"
	CodeKeyNotForPrincipal Code = "key_not_for_principal"
	CodeKeyNotForNamespace Code = "key_not_for_namespace"
	CodeKeyUnavailable     Code = "key_unavailable"
	CodeIdentityUnproven   Code = "identity_unproven"
	CodePrincipalUnknown   Code = "principal_unknown"
	CodePrincipalDisabled  Code = "principal_disabled"
	CodeRoleInsufficient   Code = "role_insufficient"
	CodeRunAsForbidden     Code = "run_as_forbidden"
	CodeTrustRefused       Code = "trust_refused"
)

// Codes: chain.
const (
	CodeChainBroken       Code = "chain_broken"
	CodeChainRollback     Code = "chain_rollback"
	CodePinMissing        Code = "pin_missing"
	CodePinCorrupt        Code = "pin_corrupt"
	CodeChainMissing      Code = "chain_missing"
	CodeOpTampered        Code = "op_tampered"
	CodeOpRefused         Code = "op_refused"
	CodeHeadMoved         Code = "head_moved"
	CodeSeqInvalid        Code = "seq_invalid"
	CodeApplyBeforePassed Code = "apply_before_passed"
	CodeCreatedInvalid    Code = "created_invalid"
	CodeActionUnknown     Code = "action_unknown"
	CodeNamespaceMismatch Code = "namespace_mismatch"
	CodeNotJobOwner       Code = "not_job_owner"
	CodeJobExists         Code = "job_exists"
	CodeJobUnknown        Code = "job_unknown"
	CodeInitIncomplete    Code = "init_incomplete"
)

// Codes: ledger and its checkpoints.
const (
	CodeLedgerTampered     Code = "ledger_tampered"
	CodeLedgerTruncated    Code = "ledger_truncated"
	CodeCheckpointInvalid  Code = "checkpoint_invalid"
	CodeCheckpointRollback Code = "checkpoint_rollback"
	CodeCheckpointFork     Code = "checkpoint_fork"
	CodeAuditKeyLost       Code = "audit_key_lost"
)

// Codes: structure.
const (
	CodeSpecMalformed         Code = "spec_malformed"
	CodeSpecUnknownField      Code = "spec_unknown_field"
	CodeSpecDuplicateKey      Code = "spec_duplicate_key"
	CodeSpecSchemaUnsupported Code = "spec_schema_unsupported"
	CodeSpecTooLarge          Code = "spec_too_large"
	CodeSpecTextUnusual       Code = "spec_text_unusual"
	CodeSpecFieldLater        Code = "spec_field_later"
	CodeRevisionRollback      Code = "revision_rollback"
	CodeJobTombstoned         Code = "job_tombstoned"
	CodeJobDisabled           Code = "job_disabled"
	CodeHostMismatch          Code = "host_mismatch"
	CodeExpired               Code = "expired"
	CodeClockUntrusted        Code = "clock_untrusted"
	CodeClockHold             Code = "clock_hold"
	CodeClockStepped          Code = "clock_stepped"
	CodeZoneDataChanged       Code = "zone_data_changed"
	CodeScheduleInvalid       Code = "schedule_invalid"
)

// Codes: policy file.
const (
	CodePolicyMissing   Code = "policy_missing"
	CodePolicyPerms     Code = "policy_perms"
	CodePolicyParse     Code = "policy_parse"
	CodePolicySchema    Code = "policy_schema"
	CodePolicySelftest  Code = "policy_selftest"
	CodePolicyEvalError Code = "policy_eval_error"
	CodePolicyRollback  Code = "policy_rollback"
)

// Codes: ceilings.
const (
	CodeTierForbidden         Code = "tier_forbidden"
	CodeTierUnknown           Code = "tier_unknown"
	CodeTierOverCeiling       Code = "tier_over_ceiling"
	CodeNetOverCeiling        Code = "net_over_ceiling"
	CodeNetDomainInvalid      Code = "net_domain_invalid"
	CodePathOverCeiling       Code = "path_over_ceiling"
	CodePathSensitive         Code = "path_sensitive"
	CodePathUnreachable       Code = "path_unreachable"
	CodeBindOverCeiling       Code = "bind_over_ceiling"
	CodeBindSensitive         Code = "bind_sensitive"
	CodeBindModeMissing       Code = "bind_mode_missing"
	CodeSocketOverCeiling     Code = "socket_over_ceiling"
	CodeCredentialOverCeiling Code = "credential_over_ceiling"
	CodeCredentialMissing     Code = "credential_missing"
	CodeCredentialUnsafe      Code = "credential_unsafe"
	CodeCredentialUnusable    Code = "credential_unusable"
	CodeLimitOverCeiling      Code = "limit_over_ceiling"
	CodeTTLOverCeiling        Code = "ttl_over_ceiling"
	CodeIntervalTooShort      Code = "interval_too_short"
	CodeQuotaJobs             Code = "quota_jobs"
	CodeWeakerForbidden       Code = "weaker_forbidden"
	CodeStateOverQuota        Code = "state_over_quota"
	CodeStateUnusable         Code = "state_unusable"
)

// Codes: command.
const (
	CodeCmdDeniedRule    Code = "cmd_denied_rule"
	CodeCmdNotAllowed    Code = "cmd_not_allowed"
	CodeCmdAskUnanswered Code = "cmd_ask_unanswered"
	CodeCmdUnparseable   Code = "cmd_unparseable"
	CodeCmdDynamic       Code = "cmd_dynamic"
	CodeCmdWrapperDepth  Code = "cmd_wrapper_depth"
	CodeCmdWrapperOpaque Code = "cmd_wrapper_opaque"
	CodeCmdPrivilege     Code = "cmd_privilege"
	CodeCmdInlineEval    Code = "cmd_inline_eval"
	CodeCmdStdinProgram  Code = "cmd_stdin_program"
	CodeCmdBypassFlag    Code = "cmd_bypass_flag"
	CodeCmdAgentFlag     Code = "cmd_agent_flag"
	CodeCmdRedirect      Code = "cmd_redirect"
	CodeCmdTextUnusual   Code = "cmd_text_unusual"
	CodeEnvForbidden     Code = "env_forbidden"
	CodeEnvNotAllowed    Code = "env_not_allowed"
	CodeAskAtTrigger     Code = "ask_at_trigger"
	CodeAskAnswerStale   Code = "ask_answer_stale"
)

// Codes: binding.
const (
	CodeBindAmbiguous    Code = "bind_ambiguous"
	CodeDriftExecMissing Code = "drift_exec_missing"
	CodeDriftExecPath    Code = "drift_exec_path"
	CodeDriftExecHash    Code = "drift_exec_hash"
	CodeDriftExecOwner   Code = "drift_exec_owner"
	CodeDriftInterpreter Code = "drift_interpreter"
	CodeDriftScript      Code = "drift_script"
	CodeDriftFile        Code = "drift_file"
	CodeDriftCwd         Code = "drift_cwd"
	CodeDriftCwdSymlink  Code = "drift_cwd_symlink"
	CodeDriftUser        Code = "drift_user"
	CodeDriftBindSrc     Code = "drift_bind_src"
	CodeDriftTooLarge    Code = "drift_too_large"
)

// Codes: sandbox.
const (
	CodeSbxPlatformDisabled Code = "sbx_platform_disabled"
	CodeSbxBackendMissing   Code = "sbx_backend_missing"
	CodeSbxBackendVersion   Code = "sbx_backend_version"
	CodeSbxFeatureMissing   Code = "sbx_feature_missing"
	CodeSbxSelftestFailed   Code = "sbx_selftest_failed"
	CodeSbxSetupFailed      Code = "sbx_setup_failed"
	CodeSbxResource         Code = "sbx_resource"
	CodeSbxProxyFailed      Code = "sbx_proxy_failed"
)

// Codes: schedule.
const (
	CodeJobHeld         Code = "job_held"
	CodeJobNotHeld      Code = "job_not_held"
	CodeMissedSkipped   Code = "missed_skipped"
	CodeOverlapSkipped  Code = "overlap_skipped"
	CodeOverlapReplaced Code = "overlap_replaced"
	CodeCoalesced       Code = "coalesced"
	CodeWindowClosed    Code = "window_closed"
	CodeRateLimited     Code = "rate_limited"
	CodeBreakerOpen     Code = "breaker_open"
	CodeBreakerLocked   Code = "breaker_locked"
	CodeShutdown        Code = "shutdown"
	CodeCanceled        Code = "canceled"
	CodeCapacity        Code = "capacity"
	CodeServiceDown     Code = "service_down"
	CodeServiceRunning  Code = "service_running"
	CodeLostRun         Code = "lost_run"
	CodeRunUnknown      Code = "run_unknown"
	CodeOutputPruned    Code = "output_pruned"
)

// Codes: asks inside a run.
const (
	CodeAskTTY         Code = "ask_tty"
	CodeAskStdin       Code = "ask_stdin"
	CodeAskAskpassSudo Code = "ask_askpass_sudo"
	CodeAskAskpassSSH  Code = "ask_askpass_ssh"
	CodeAskAskpassGit  Code = "ask_askpass_git"
	CodeAskPinentry    Code = "ask_pinentry"
	CodeAskEditor      Code = "ask_editor"
	CodeAskPager       Code = "ask_pager"
	CodeAskBrowser     Code = "ask_browser"
	CodeAskDesktop     Code = "ask_desktop"
	CodeAskAgentDenied Code = "ask_agent_denied"
)

// Codes: how denials, and an agent's own account of them, end a run.
const (
	CodeDenialKilled     Code = "denial_killed"
	CodeDenialLoop       Code = "denial_loop"
	CodeResultUnreadable Code = "result_unreadable"
	CodeSbxWitnessFailed Code = "sbx_witness_failed"
)

// Codes: escalation inside a run.
const (
	CodeEscSudo          Code = "esc_sudo"
	CodeEscSu            Code = "esc_su"
	CodeEscDoas          Code = "esc_doas"
	CodeEscPkexec        Code = "esc_pkexec"
	CodeEscRun0          Code = "esc_run0"
	CodeEscSetuidInert   Code = "esc_setuid_inert"
	CodeEscUserns        Code = "esc_userns"
	CodeEscMount         Code = "esc_mount"
	CodeEscPtrace        Code = "esc_ptrace"
	CodeEscBPF           Code = "esc_bpf"
	CodeEscModule        Code = "esc_module"
	CodeEscKeyctl        Code = "esc_keyctl"
	CodeEscUnixSocket    Code = "esc_unix_socket"
	CodeEscDBus          Code = "esc_dbus"
	CodeEscContainerSock Code = "esc_container_sock"
	CodeEscAgentSock     Code = "esc_agent_sock"
	CodeEscAgentBypass   Code = "esc_agent_bypass"
	CodeEscScheduler     Code = "esc_scheduler"
)

// Codes: resources inside a run.
const (
	CodeNetDeniedDomain    Code = "net_denied_domain"
	CodeNetDeniedPort      Code = "net_denied_port"
	CodeNetDeniedDirect    Code = "net_denied_direct"
	CodeNetDeniedLocal     Code = "net_denied_local"
	CodeNetDeniedRedirect  Code = "net_denied_redirect"
	CodeFsDeniedWrite      Code = "fs_denied_write"
	CodeFsDeniedRead       Code = "fs_denied_read"
	CodeFsDeniedDevice     Code = "fs_denied_device"
	CodeFsDeniedProtected  Code = "fs_denied_protected"
	CodeFsProtectedCreated Code = "fs_protected_created"
	CodeSysDenied          Code = "sys_denied"
	CodeLimitTimeout       Code = "limit_timeout"
	CodeLimitMemory        Code = "limit_memory"
	CodeLimitPIDs          Code = "limit_pids"
	CodeLimitOutput        Code = "limit_output"
	CodeLimitFsize         Code = "limit_fsize"
	CodeLimitCPU           Code = "limit_cpu"
	CodeLimitWorkspace     Code = "limit_workspace"
	CodeLimitTmp           Code = "limit_tmp"
	CodeLimitConnections   Code = "limit_connections"
	CodeLimitNetBytes      Code = "limit_net_bytes"
)

// Codes: runner.
const (
	CodeAuditUnavailable  Code = "audit_unavailable"
	CodeNoticeConfig      Code = "notice_config"
	CodeNoticeUndelivered Code = "notice_undelivered"
	CodeInternal          Code = "internal"
)
