"""Rules 7 to 12: commands, ends of turns, open vocabularies, codes, consent, reads."""

from __future__ import annotations

from typing import Final

from tests.rules_broken.row import Broken

ROWS: Final[tuple[Broken, ...]] = (
    # -- 7
    Broken(
        7,
        "a command that is sent again is a new one",
        "adapter/msp/asking.py",
        'ack = await self._call(method, {**params, "commandId": command_id}, trace, timeout)',
        'ack = await self._call(method, {**params, "commandId": uuid7()}, trace, timeout)',
        "unit/test_msp_asking.py::test_a_command_is_sent_again_under_the_same_id",
    ),
    Broken(
        7,
        "other refusals are tried again as well",
        "adapter/msp/budgets.py",
        '_RETRIED_KINDS: Final = frozenset({"overloaded", "backpressured"})',
        '_RETRIED_KINDS: Final = frozenset({"overloaded", "backpressured", "internal", "sessionBusy"})',
        "unit/test_msp_budgets.py::test_no_other_refusal_is_tried_again",
    ),
    Broken(
        7,
        "a command is sent without end",
        "adapter/msp/budgets.py",
        "    if kind not in _RETRIED_KINDS or attempt >= ATTEMPTS:",
        "    if kind not in _RETRIED_KINDS or attempt >= 1000:",
        "unit/test_msp_budgets.py::test_a_busy_host_is_asked_again_a_bounded_number_of_times",
    ),
    Broken(
        7,
        "ids are of no version",
        "adapter/msp/ids.py",
        '    return f"{head[:8]}-{head[8:12]}-7{head[12:]}-{tail[:4]}-{tail[4:]}"',
        '    return f"{head[:8]}-{head[8:12]}-4{head[12:]}-{tail[:4]}-{tail[4:]}"',
        "unit/test_msp_ids.py::test_is_a_version_7_uuid_of_now",
    ),
    # -- 8
    Broken(
        8,
        "a prompt is answered when it is acknowledged",
        "adapter/bridge/turns/prompt_run.py",
        "        self._queued = queued\n        if not queued:\n            self.began.set()",
        "        self.settle(DONE)\n        self._queued = queued\n        if not queued:\n"
        "            self.began.set()",
        "faults/test_faults_cancel.py::test_g4_cancel_does_not_wait_for_the_turn",
    ),
    Broken(
        8,
        "an end without a turn's id ends whatever runs",
        "adapter/msp/turns.py",
        '        return self._settle(params.get("turnId"), _outcome(params))',
        '        return self._settle(params.get("turnId") or next(iter(self._running), None), _outcome(params))',
        "unit/test_msp_turns.py::test_h6_an_end_without_a_turn_id_ends_nothing",
    ),
    Broken(
        8,
        "a turn that was reclaimed has no end",
        "adapter/msp/fold.py",
        '            "turn/unqueued": self._turn_unqueued,\n',
        "",
        "unit/test_msp_fold.py::test_a_turn_that_was_reclaimed_has_ended",
    ),
    # -- 9
    Broken(
        9,
        "an unknown method is a fault",
        "adapter/msp/fold.py",
        "        return self._dispatch(method, params)\n\n    def distrust_streams",
        "        if method not in self._handlers:\n            raise ValueError(method)\n"
        "        return self._dispatch(method, params)\n\n    def distrust_streams",
        "unit/test_msp_fold.py::test_o3_unknown_method_kind_status_and_missing_members",
    ),
    Broken(
        9,
        "a stop reason of the host goes through as it is",
        "adapter/bridge/outcomes.py",
        "        raise _turn_failure(outcome)\n    return END_TURN",
        "        raise _turn_failure(outcome)\n    return outcome.reason or END_TURN",
        "faults/test_faults_adapter_turns.py::test_h4_no_stop_reason_is_invented",
    ),
    Broken(
        9,
        "a mode that was never offered goes to the host",
        "adapter/bridge/session_state/settings.py",
        "    if mode_id not in _mode_ids(settings):",
        "    if not mode_id:",
        "unit/test_bridge_settings.py::test_o6_modes_that_are_not_on_offer_are_refused",
    ),
    # -- 10
    Broken(
        10,
        "a host's code becomes the client's",
        "adapter/bridge/outcomes.py",
        "    return _failure(meaning, words, told if isinstance(told, bool) else None, **more)\n\n\ndef _failure",
        "    failure = _failure(meaning, words, told if isinstance(told, bool) else None, **more)\n"
        "    failure.code = error.code\n    return failure\n\n\ndef _failure",
        "unit/test_bridge_outcomes.py::test_o9_host_codes_do_not_cross",
    ),
    Broken(
        10,
        "an error has no stable reason",
        "adapter/acp/errors.py",
        '    return RpcError(code, message, {"reason": reason, "details": one_line(details, MAX_DETAILS), **more})',
        '    return RpcError(code, message, {"details": one_line(details, MAX_DETAILS), **more})',
        "unit/test_acp_errors.py::test_an_error_says_what_why_and_for_whom",
    ),
    Broken(
        10,
        "an error has no words for people",
        "adapter/acp/errors.py",
        '    return RpcError(code, message, {"reason": reason, "details": one_line(details, MAX_DETAILS), **more})',
        '    return RpcError(code, message, {"reason": reason, **more})',
        "unit/test_acp_errors.py::test_an_error_says_what_why_and_for_whom",
    ),
    # -- 11
    Broken(
        11,
        "an answer that is none of the options is the first one",
        "adapter/bridge/consent/permission.py",
        '    return option_id if any(option["optionId"] == option_id for option in offered) else None',
        '    known = any(option["optionId"] == option_id for option in offered)\n'
        '    return option_id if known else offered[0]["optionId"]',
        "faults/test_faults_adapter_consent.py::test_i3_anything_but_a_clear_choice_is_a_refusal",
    ),
    Broken(
        11,
        "any outcome that names an option selects it",
        "adapter/bridge/consent/permission.py",
        '    if not isinstance(outcome, dict) or outcome.get("outcome") != "selected":\n',
        "    if not isinstance(outcome, dict):\n",
        "unit/test_bridge_permission.py::test_i1_only_a_clear_selection_of_an_offered_option_counts",
    ),
    Broken(
        11,
        "consent to one stage holds for the next",
        "adapter/bridge/consent/permission.py",
        '_QUESTION_MEMBERS: Final = ("currentRequirementId", "availableChoices", "subject")',
        '_QUESTION_MEMBERS: Final = ("availableChoices",)',
        "faults/test_faults_adapter_consent.py::test_i1_consent_to_one_stage_is_not_used_for_the_next",
    ),
    Broken(
        11,
        "what is allowed after the stop is allowed",
        "adapter/bridge/consent/dialogs.py",
        '        return asked.is_refused or self._is_stopped(asked.params.get("turnId"))',
        "        return False",
        "faults/test_faults_adapter_consent.py::test_i5_an_answer_after_the_cancel_allows_nothing",
    ),
    Broken(
        11,
        "what cannot be classified is offered as consent",
        "adapter/bridge/consent/permission.py",
        '        return "reject_always" if lasting and decision != "abort" else "reject_once"\n    return None',
        '        return "reject_always" if lasting and decision != "abort" else "reject_once"\n    return "allow_once"',
        "unit/test_bridge_permission.py::test_i1_what_cannot_be_classified_is_not_offered",
    ),
    # -- 12
    Broken(
        12,
        "the host that reads may write and run",
        "adapter/bridge/stored_output/read_host.py",
        "            self._flags = [flag for flag in READ_ONLY_FLAGS if flag in known]",
        "            self._flags = [flag for flag in READ_ONLY_FLAGS if flag not in known]",
        "unit/test_output_read_host.py::test_the_flags_are_those_that_the_help_lists",
    ),
    Broken(
        12,
        "a read opens the session, and takes its lease",
        "adapter/bridge/stored_output/host_reads.py",
        'stored = await host.query("session/read", {"sessionId": session_id, "excludeItems": True})',
        'stored = await host.query("session/resume", {"sessionId": session_id, "excludeItems": True})',
        "integration/test_output_reads.py::test_a_read_of_a_recent_item_is_three_questions",
    ),
    Broken(
        12,
        "a read that failed is tried again",
        "adapter/bridge/stored_output/reader.py",
        "                self._settle(read, await self._read(read))",
        "                try:\n                    self._settle(read, await self._read(read))\n"
        "                except RpcError:\n                    self._settle(read, await self._read(read))",
        "unit/test_output_reader_ends.py::test_identical_requests_share_a_refusal_too",
    ),
)
