"""`python -m adapter.hosts.simulated`: the simulated host, as if it were the `muse` executable."""

from __future__ import annotations

import signal
import sys

from adapter.hosts.simulated.options import EXIT_CONFIGURATION, EXIT_OK, EXIT_USAGE, HONEST, Mistake, Shown, parse


def main(argv: list[str], program: str = "muse") -> int:
    """Run the command line, before which `program` was typed; gives the exit code (`msp.md §23.2`)."""
    try:
        options = parse(argv, program)
    except Shown as shown:
        print(HONEST, file=sys.stderr)
        print(shown.text, end="")
        return EXIT_OK
    except Mistake as mistake:
        print(f"muse: {mistake}\nTry `{program} --help`.", file=sys.stderr)
        return EXIT_USAGE
    if options.command != "serve":
        from adapter.hosts.simulated.credentials import log_in, log_out

        return (log_in if options.command == "login" else log_out)(options.data_dir)
    # Only serving needs the rest, and `--version` is asked for often.
    from adapter.hosts.simulated.faults import BadFaults, read_faults
    from adapter.hosts.simulated.host import Host
    from adapter.hosts.simulated.loop import Loop
    from adapter.hosts.simulated.output import Output, take_over_stdout
    from adapter.hosts.simulated.settings import BadSettings, read_settings
    from adapter.hosts.simulated.witness import Witness

    try:
        faults = read_faults(options.faults, argv)
        settings = read_settings(options.data_dir)
    except (BadFaults, BadSettings) as error:
        print(f"muse: {error}", file=sys.stderr)
        return EXIT_CONFIGURATION
    output = Output(take_over_stdout(), settings.frame_limit_bytes)
    print(f"muse: {HONEST} (profile {options.profile.build})", file=sys.stderr)
    loop = Loop(0)
    host = Host(options, settings, faults, Witness(argv), loop, output)
    faults.spawn(output)
    loop.run(host.on_bytes, output.flush)
    return EXIT_OK


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Ctrl-C ends it as it ends other binaries: without a word about Python.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
