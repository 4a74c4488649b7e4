"""A word about keys that are written with dashes, as on a command line: the grammar takes them, and hardly a script does."""

from __future__ import annotations

from typing import Any

from outlast.cli.edge import note
from outlast.cli.terminal import shown
from outlast.spec.sweep.grammar import Place, configs, names_of


def note_dashes(document: Any, where: str) -> None:
    """Of the first such key; the document has been checked."""
    names = (
        name for config, place in configs(document, Place(where)) for key in config for name in names_of(key, place)
    )
    found = next((name for name in names if name.startswith("-")), None)
    if found is not None:
        note(
            f"`{shown(where)}`, key `{shown(found)}`: its flag is `--{shown(found)}`; "
            f"a key is a flag's name without its dashes, `{shown(found.lstrip('-')) or 'lr'}`"
        )
