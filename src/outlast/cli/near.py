"""What somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def near(word: str, known: Iterable[str]) -> list[str]:
    """The known words that are like this one, the likeliest first."""
    from difflib import get_close_matches

    choices = list(known)
    begins = [choice for choice in choices if word and choice.startswith(word)]
    close = get_close_matches(word, choices, n=3, cutoff=0.6)
    return list(dict.fromkeys([*begins, *close]))[:3]


def meant(words: Iterable[str]) -> str:
    """`did you mean `a` or `b`?`, or nothing."""
    quoted = [f"`{word}`" for word in words]
    if not quoted:
        return ""
    return f"did you mean {' or '.join([', '.join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)}?"
