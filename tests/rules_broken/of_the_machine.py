"""Rules 13 and 14: secrets and processes."""

from __future__ import annotations

from typing import Final

from tests.rules_broken.row import Broken

ROWS: Final[tuple[Broken, ...]] = (
    # -- 13
    Broken(
        13,
        "what a host says in an error is told as it is",
        "adapter/msp/asking.py",
        '"message": self.scrub(error.message), "data": data | told',
        '"message": error.message, "data": data | told',
        "faults/test_faults_adapter_secrets.py::test_q1_q2_a_refusal_is_told_without_the_secret_in_it",
    ),
    Broken(
        13,
        "a host's last words are told as they are",
        "adapter/msp/process.py",
        "        return self._tail.text(lambda text: scrub(text, self.command.environ))",
        "        return self._tail.text()",
        "unit/test_msp_process.py::test_c4_much_stderr_is_drained_and_its_end_is_kept_without_secrets",
    ),
    Broken(
        13,
        "values of settings show in a repr",
        "adapter/acp/mcp_servers.py",
        '        return f"Setting({self.name!r}, …)"',
        '        return f"Setting({self.name!r}, {self.value!r})"',
        "unit/test_acp_mcp_servers.py::test_a_setting_does_not_show_its_value",
    ),
    Broken(
        13,
        "a report repeats the environment",
        "adapter/cli/doctor/redaction.py",
        "        text = scrub(hide(self._at_home(text), self._values), self._environ)",
        "        text = self._at_home(text)",
        "unit/test_doctor_support.py::test_nothing_in_it_tells_a_secret_or_a_name",
    ),
    Broken(
        13,
        "what a host says of its kinds and reasons is told as it is",
        "adapter/msp/asking.py",
        '"message": self.scrub(error.message), "data": data | told',
        '"message": self.scrub(error.message), "data": data',
        "integration/test_secrets_told.py::test_q2_what_a_host_repeats_is_in_no_log_and_no_secret_of_it_in_an_error",
    ),
    Broken(
        13,
        "what MCP servers were given is not known for a secret",
        "adapter/msp/asking.py",
        '            self._server_secrets.learn(params["config"])',
        "            pass",
        "integration/test_secrets_told.py::test_q2_what_a_host_repeats_is_in_no_log_and_no_secret_of_it_in_an_error",
    ),
    Broken(
        13,
        "an exception nobody expected is logged with its words",
        "adapter/cli/logs.py",
        '    yield f"{type(error).__module__}.{type(error).__qualname__}"',
        '    yield f"{type(error).__module__}.{type(error).__qualname__}: {error}"',
        "unit/test_cli_logs.py::test_q2_an_exception_is_told_by_its_kind_and_its_place",
    ),
    Broken(
        13,
        "the log has the words of an error of a host, prompts among them",
        "adapter/msp/errors.py",
        "        return f\"{', '.join(words)} ({self.code})\"",
        "        return f\"{', '.join(words)} ({self.code}): {self.message}\"",
        "unit/test_msp_server_secrets.py::test_q2_an_error_in_a_log_has_none_of_the_hosts_words",
    ),
    # -- 14
    Broken(
        14,
        "a host is in our own process group",
        "adapter/msp/launch.py",
        '            start_new_session=sys.platform != "win32",',
        "            start_new_session=False,",
        "unit/test_msp_process.py::test_it_has_a_group_of_its_own_and_three_pipes",
    ),
    Broken(
        14,
        "only the host itself gets the signal",
        "adapter/msp/process.py",
        "                os.killpg(self.pid, signum)",
        "                os.kill(self.pid, signum)",
        "unit/test_msp_process.py::test_f2_nothing_of_the_group_is_left",
    ),
    Broken(
        14,
        "a host is killed without being asked",
        "adapter/msp/process.py",
        "            await self._reaped_within(close_grace)\n            if self.exit_code is None:\n"
        "                await self._look()\n",
        "            if self.exit_code is None:\n                await self._look()\n",
        "unit/test_msp_process.py::test_f4_each_step_of_the_ladder",
    ),
    Broken(
        14,
        "hosts are killed as soon as the client has gone",
        "adapter/cli/serve.py",
        "        await agent.close()\n",
        "",
        "faults/test_faults_ends.py::test_e7_a_host_has_the_time_to_record_what_was_running",
    ),
    Broken(
        14,
        "a host that ignores SIGTERM stays",
        "adapter/msp/process.py",
        "                    self._signal(_KILL)",
        "                    self._signal(signal.SIGTERM)",
        "unit/test_msp_process.py::test_f4_each_step_of_the_ladder",
    ),
    Broken(
        14,
        "nobody is left to end what a killed adapter had started",
        "adapter/msp/guardian.py",
        '        if sys.platform == "win32" or os.getpid() == 1 or self.watches:',
        '        if sys.platform != "win32" or os.getpid() == 1 or self.watches:',
        "unit/test_process_guardian.py::test_f2_nothing_outlives_a_killed_adapter",
    ),
    Broken(
        14,
        "the handshake of a host is awaited for ever, and so is its end",
        "adapter/msp/host.py",
        "                await process.end(self._close_grace if self.handshake else UNREADY_GRACE)",
        "                await process.wait()",
        "faults/test_faults_launch.py::test_n10_host_never_becomes_ready",
    ),
)
