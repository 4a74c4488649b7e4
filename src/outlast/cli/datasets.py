"""What is said of datasets: how much there was, how much of it was new, what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast.cli.terminal import say, shown
from outlast.cli.words import count, size

if TYPE_CHECKING:
    from outlast.bundle.dataset.push import Pushed
    from outlast.jobs.datasets import Given

LEFT_OUT_SHOWN_MAX = 5


def say_datasets(given: tuple[Given, ...]) -> None:
    for one in given:
        name = f"Dataset `{one.name}`" if one.name else "Dataset"
        if one.dataset.mode == "url":
            say(f"{name} is left at `{shown(one.source)}`")
            continue
        say(f"{name} `{shown(one.source)}`: {count(one.files, 'file')}, {size(one.bytes)}{_news(one.pushed)}")
        if one.pushed is not None:
            say_left_out(one.pushed)


def say_left_out(pushed: Pushed) -> None:
    for one in pushed.left_out[:LEFT_OUT_SHOWN_MAX]:
        say(f"  left out `{shown(one.path)}`: {shown(one.why)}")
    if pushed.left_out_count > LEFT_OUT_SHOWN_MAX:
        say(f"  left out {pushed.left_out_count - LEFT_OUT_SHOWN_MAX:,} more")


def _news(pushed: Pushed | None) -> str:
    if pushed is None:
        return ""
    return f", {size(pushed.uploaded_bytes)} uploaded" if pushed.uploaded_bytes else ", in the home already"
