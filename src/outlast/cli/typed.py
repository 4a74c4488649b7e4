"""A command line as somebody typed it: `[OPTIONS] TARGET [-- ARGS]`, and put right where it was not."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from outlast.cli.near import near
from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.pattern import pattern

_INTERPRETER = pattern(r"(?:\S*/)?(?:python[0-9.]*|bash|sh)|-m")


@dataclass(frozen=True)
class Word:
    """An option with its value, or a word that is none of ours."""

    tokens: tuple[str, ...]
    ours: bool


def normal(token: str, aliases: Mapping[str, str]) -> str:
    """An option's name, without its dashes, in its one form: underscores are dashes, older names the new ones."""
    name = token.replace("_", "-")
    return aliases.get(name, name)


def quoted(tokens: Sequence[str]) -> str:
    """As a shell takes it, on one line whatever stands in it."""
    return " ".join(shlex.quote(token) if token.isprintable() else _ansi_quoted(token) for token in tokens)


def _ansi_quoted(token: str) -> str:
    escaped = token.encode("utf-8", "surrogateescape").decode("latin-1").encode("unicode_escape").decode("ascii")
    return "$'" + escaped.replace("'", "\\'") + "'"


class _NoDirectory(Exception):
    def __init__(self, at: int, value: str) -> None:
        self.at = at
        self.value = value


class CommandLine:
    """`takes_value`: every option by its normal name (`--name`, `-l`), and whether a value follows it. `behind`: options of outlast may
    stand behind the target too. `instead`: an option that says what the target is."""

    def __init__(
        self,
        command: str,
        takes_value: Mapping[str, bool],
        normalize: Callable[[str], str],
        *,
        behind: bool = False,
        instead: str = "",
    ) -> None:
        self._command = command
        self._behind = behind
        self._instead = instead
        self._takes_value = takes_value
        self._normalize = normalize

    def split(self, tokens: Sequence[str]) -> tuple[list[str], list[str]]:
        """What is for outlast (options, one target) and what is for the target; else UsageError, with the right line."""
        at = tokens.index("--") if "--" in tokens else len(tokens)
        ours, args = list(tokens[:at]), list(tokens[at + 1 :])
        try:
            words = list(self._words(ours))
        except _NoDirectory as problem:
            raise self._did_you_mean_detach(problem, list(tokens)) from None
        target = next((i for i, word in enumerate(words) if not word.ours), None)
        if target is not None and not _is_here(words[target].tokens[0]):
            parts = words[target].tokens[0].split()
            if len(parts) > 1 and (_INTERPRETER.fullmatch(parts[0]) or os.path.isfile(parts[0])):
                words[target : target + 1] = [Word((part,), ours=False) for part in parts]  # a command line in quotes
            if _INTERPRETER.fullmatch(words[target].tokens[0]):
                self._refuse_interpreter(words, target, args)
        if target is not None and words[target].tokens[0].startswith("-"):
            return _flat(words), args  # an option that nobody knows: the parser answers with one that is like it
        if target is not None and len(words) > target + 1:
            if self._behind and all(word.ours for word in words[target + 1 :]):
                return _flat(words), args
            raise self._behind_target(words, target, args)
        if target is None and args and not any(word.tokens[0].partition("=")[0] == self._instead for word in words):
            raise self._target_behind_dashes(words, args)
        return _flat(words), args

    def _words(self, tokens: Sequence[str]) -> Iterator[Word]:
        rest = list(tokens)
        while rest:
            token = rest.pop(0)
            if token.startswith("-d") and "-d" in self._takes_value:
                yield self._dir_word(token, rest, at=len(tokens) - len(rest) - 1)
                continue
            takes_value = self._known(token)
            if takes_value is None:
                yield Word((token,), ours=False)
            elif takes_value and rest:
                yield Word((token, rest.pop(0)), ours=True)
            else:
                yield Word((token,), ours=True)

    def _known(self, token: str) -> bool | None:
        """Whether a value follows this option; None: it is none of ours."""
        if token.startswith("--"):
            name, equals, _ = token[2:].partition("=")
            takes_value = self._takes_value.get("--" + self._normalize(name))
            return False if takes_value is not None and equals else takes_value
        if token.startswith("-") and len(token) > 1:
            takes_value = self._takes_value.get(token[:2])
            return False if takes_value and len(token) > 2 else takes_value
        return None

    def _dir_word(self, token: str, rest: list[str], at: int) -> Word:
        value = token[2:] or (rest[0] if rest else "")
        if not value or not os.path.isdir(value):
            raise _NoDirectory(at, value)
        if not token[2:]:
            rest.pop(0)
        return Word(("--dir", value), ours=True)

    def _did_you_mean_detach(self, problem: _NoDirectory, tokens: list[str]) -> UsageError:
        behind = tokens[problem.at + (1 if tokens[problem.at][2:] else 2) :]
        if problem.value and not os.path.exists(problem.value) and any(map(os.path.isfile, behind)):
            return self._no_such_directory(problem, tokens[: problem.at], behind)
        tokens[problem.at] = "--detach"
        hint = f"`{quoted(['outlast', self._command, *tokens])}`"
        try:
            self.split(tokens)
        except UsageError as further:
            hint = further.hint
        no_directory = f"`{problem.value}` is no directory" if problem.value else "no directory follows it"
        return UsageError(f"`-d` is short for `--dir`, and {no_directory}: did you mean `--detach`?", hint=hint)

    def _no_such_directory(self, problem: _NoDirectory, before: list[str], behind: list[str]) -> UsageError:
        """The target stands behind it, so a directory was meant: perhaps one with a name that is like it."""
        parent, name = os.path.split(problem.value)
        try:
            known = [one.name for one in os.scandir(parent or ".") if one.is_dir() and not one.name.startswith(".")]
        except OSError:
            known = []
        alike = [os.path.join(parent, one) for one in near(name, sorted(known))]
        right = ["-d", alike[0]] if alike else []
        hint = f"`{quoted(['outlast', self._command, *before, *right, *behind])}`"
        return UsageError(
            f"there is no directory `{problem.value}`",
            state=""
            if alike
            else "`-d` is short for `--dir`: did you mean `--detach`? What is shipped without it is the directory that you stand in",
            hint=hint,
        )

    def _refuse_interpreter(self, words: list[Word], at: int, args: list[str]) -> None:
        """`python train.py`, as other tools want it; `python -m package` too."""
        rest = [*_flat(words[at + 1 :]), *args]
        while rest and rest[0].startswith("-"):
            rest.pop(0)
        if not rest:
            return
        theirs = rest[2:] if rest[1:2] == ["--"] else rest[1:]
        right = ["outlast", self._command, *_flat(words[:at]), rest[0], *(["--", *theirs] if theirs else [])]
        raise UsageError(
            f"the target is the script itself, without `{words[at].tokens[0]}` before it",
            state="a job runs in the Python of your environment; `--python` asks for another",
            hint=f"`{quoted(right)}`",
        )

    def _behind_target(self, words: list[Word], at: int, args: list[str]) -> UsageError:
        target, behind = words[at].tokens[0], words[at + 1 :]
        unbraced = self._unbraced(words, at, args)
        if unbraced is not None:
            return unbraced
        ours = [word for word in behind if word.ours]
        theirs = [*_flat(word for word in behind if not word.ours), *args]
        right = [
            "outlast",
            self._command,
            *_flat(words[:at]),
            *_flat(ours),
            target,
            *(["--", *theirs] if theirs else []),
        ]
        return UsageError(
            f"`{behind[0].tokens[0]}` stands behind the target `{target}`",
            state="options of outlast stand before the target, arguments of the target behind `--`",
            hint=f"`{quoted(right)}`",
        )

    def _unbraced(self, words: list[Word], at: int, args: list[str]) -> UsageError | None:
        """`--git URL@{A,B}` without quotes: the shell has made several words of it."""
        git = next((word.tokens for word in words[:at] if word.tokens[0] == "--git" and len(word.tokens) == 2), None)
        url = git[1].rpartition("@")[0] if git is not None else ""
        if git is None or not url or not words[at].tokens[0].startswith(f"{url}@"):
            return None
        rest = list(words)
        refs = [git[1][len(url) + 1 :]]
        while len(rest) > at and rest[at].tokens[0].startswith(f"{url}@"):
            refs.append(rest.pop(at).tokens[0][len(url) + 1 :])
        whole = f"{url}@{{{','.join(refs)}}}"
        before = [token if token != git[1] else whole for token in _flat(rest[:at])]
        right = ["outlast", self._command, *before, *_flat(rest[at:]), *(["--", *args] if args else [])]
        return UsageError(
            f"`{whole}` was taken apart by the shell, for which braces have a meaning of their own",
            state="nothing was started",
            hint=f"`{quoted(right)}`",
        )

    def _target_behind_dashes(self, words: list[Word], args: list[str]) -> UsageError:
        right = ["outlast", self._command, *_flat(words), args[0], *(["--", *args[1:]] if args[1:] else [])]
        return UsageError(
            "no target stands before `--`",
            state="the target is outlast's to find; only its arguments stand behind `--`",
            hint=f"`{quoted(right)}`",
        )


def _is_here(path: str) -> bool:
    return os.path.exists(path) and not os.path.isabs(path)


def _flat(words: Iterator[Word] | Sequence[Word]) -> list[str]:
    return [token for word in words for token in word.tokens]
