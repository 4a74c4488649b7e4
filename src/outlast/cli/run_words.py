"""What is said of a job before it begins: what was shipped, where it runs, what it may cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast.cli.datasets import say_datasets
from outlast.cli.equipment_words import say_equipment, say_image
from outlast.cli.machine_words import hourly_words, limit_words, machine_words, rented_words
from outlast.cli.shell_option import way_in_words
from outlast.cli.terminal import say, shown
from outlast.cli.words import count, duration, size

if TYPE_CHECKING:
    from outlast.jobs.plan import Plan

LEFT_OUT_SHOWN_MAX = 5


def say_plan(planned: Plan, seconds: float) -> None:
    """Where it runs, with which Python, what was shipped, what it costs, its limit, and how to stop it."""
    spec = planned.spec
    for note in (*planned.prepared.notes, *planned.notes):
        say(note)
    say_shipped(planned, f" in {duration(seconds - planned.equipment.seconds)}")
    if planned.image is not None:
        say_image(planned.image)
    say_machine(planned)
    for name, reference in spec.secrets.items():
        say(f"  `{name}` is a secret, from `{shown(reference)}`")
    for one in spec.notify:
        say(f"  `{shown(one)}` is told of its end")
    if planned.asked.shell:
        say(f"  {way_in_words(spec)}")
    say(f"  `outlast stop {spec.job}` stops it")


def say_machine(planned: Plan) -> None:
    """Where it runs, for how much, and how long at most."""
    spec = planned.spec
    limit = limit_words(spec.machine, spec.workers, spec.max_run_seconds, spec.max_cost_usd)
    price = hourly_words(spec.machine, spec.workers)
    say(f"Job `{spec.job}` on `{spec.engine}`: {machine_words(spec.machine)}, {price}, {limit}")
    for line in rented_words(spec.machine.rented) if spec.machine.rented else ():
        say(f"  it {line}")


def say_shipped(planned: Plan, took: str = "") -> None:
    packed = planned.packed
    say(f"Packed {count(packed.files, 'file')}, {size(packed.bytes)}{took}")
    if packed.heaviest:
        largest = ", ".join(f"`{shown(path)}` ({size(bytes)})" for path, bytes in packed.heaviest)
        say(f"  the largest: {largest}; every attempt unpacks them anew")
        say("  `--dataset` uploads data once and shares it; `.outlastignore` leaves files out")
    for one in packed.left_out[:LEFT_OUT_SHOWN_MAX]:
        say(f"  left out `{shown(one.path)}`, {size(one.bytes)}: {shown(one.why)}")
    if len(packed.left_out) > LEFT_OUT_SHOWN_MAX:
        say(f"  left out {len(packed.left_out) - LEFT_OUT_SHOWN_MAX:,} more")
    say_datasets(planned.given)
    say_equipment(planned.equipment)
