"""`python -m crewtop.demo.provider`: the simulated provider as a process of its own."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys

from crewtop.demo.provider.behaviour import Behaviour
from crewtop.demo.provider.server import serve


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m crewtop.demo.provider",
        description="A simulated OpenAI-compatible provider on 127.0.0.1. All shares are between 0 and 1.",
    )
    add = parser.add_argument
    add("--port", type=int, default=0, help="0 takes a free port (default)")
    add("--latency", type=float, default=0.3, metavar="SECONDS", help="time to answer (default 0.3)")
    add("--latency-of", action="append", default=[], metavar="MODEL=SECONDS", help="for one model; repeatable")
    add("--jitter", type=float, default=0.0, metavar="SHARE", help="added at most: 0.2 is 20 %% more")
    add("--fail", type=float, default=0.0, metavar="SHARE", help="failing calls: half 429, half 500")
    add("--rate-429", type=float, default=0.0, metavar="SHARE", help="refused with 429, beside --fail")
    add("--retry-after", type=int, default=1, metavar="SECONDS", help="what a 429 asks for (default 1)")
    add("--rate-500", type=float, default=0.0, metavar="SHARE", help="refused with 500, beside --fail")
    add("--rate-hang", type=float, default=0.0, metavar="SHARE", help="accepted and never answered")
    add("--rate-drip", type=float, default=0.0, metavar="SHARE", help="one byte now and then, for ever")
    add("--rate-no-usage", type=float, default=0.0, metavar="SHARE", help="answered without token usage")
    for flag, what in (("requests-per-minute", "calls"), ("tokens-per-minute", "tokens"), ("at-once", "open calls")):
        add(f"--{flag}", type=int, metavar="N", help=f"{what} of each key and model; above: 429 (default: no limit)")
    add("--seed", type=int, default=0, help="equal seeds give the n-th call the same fate")
    return parser


def _behaviour(flags: argparse.Namespace) -> Behaviour:
    latency_by_model = {}
    for setting in flags.latency_of:
        model, _, seconds = setting.partition("=")
        try:
            latency_by_model[model] = float(seconds)
        except ValueError:
            raise ValueError(f"--latency-of {setting}: write MODEL=SECONDS, as in gpt-4.1=1.2") from None
    return Behaviour(
        latency_seconds=flags.latency,
        latency_by_model=latency_by_model,
        jitter=flags.jitter,
        rate_429=flags.rate_429 + flags.fail / 2,
        retry_after_seconds=flags.retry_after,
        rate_500=flags.rate_500 + flags.fail / 2,
        rate_hang=flags.rate_hang,
        rate_drip=flags.rate_drip,
        rate_no_usage=flags.rate_no_usage,
        requests_per_minute=flags.requests_per_minute,
        tokens_per_minute=flags.tokens_per_minute,
        at_once=flags.at_once,
        seed=flags.seed,
    )


async def _run(behaviour: Behaviour, port: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serve(behaviour, port) as provider:
        sys.stdout.write(f"listening on {provider.url}\n")
        sys.stdout.flush()
        await stop.wait()


def main() -> None:
    """Serve until SIGINT or SIGTERM; exit with 2 and one line if a flag or the port will not do."""
    parser = _parser()
    flags = parser.parse_args()
    try:
        behaviour = _behaviour(flags)
    except ValueError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    try:
        asyncio.run(_run(behaviour, flags.port))
    except (OSError, OverflowError) as error:
        parser.exit(2, f"{parser.prog}: --port {flags.port}: {error}; choose another, or 0 for a free one\n")


if __name__ == "__main__":
    main()
