"""Import statements in a syntax tree, each as surely carried out as what it stands in."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from outlast.bundle.environment.imports import Import, Surely

SYSTEMS = frozenset({"version_info", "platform", "PY2", "PY3"})
CATCHES = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def imports_in(source: bytes, *, is_target: bool) -> list[Import]:
    """Empty for what is no Python of a version that we can read."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return list(_statements(tree.body, Surely.YES, is_target=is_target))


def _statements(body: Sequence[ast.stmt], surely: Surely, *, is_target: bool) -> Iterator[Import]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, (), node.lineno, surely) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names if alias.name != "*")
            yield Import("." * node.level + (node.module or ""), names, node.lineno, surely)
        elif isinstance(node, ast.If):
            yield from _condition(node, surely, is_target=is_target)
        elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            yield from _attempt(node, surely, is_target=is_target)
        else:
            within = max(surely, _within(node))
            for part in ("body", "orelse"):
                yield from _statements(getattr(node, part, ()), within, is_target=is_target)
            for case in getattr(node, "cases", ()):
                yield from _statements(case.body, max(surely, Surely.PERHAPS), is_target=is_target)


def _within(node: ast.stmt) -> Surely:
    if isinstance(node, ast.With | ast.AsyncWith):
        return Surely.GUARDED if any(_suppresses(item.context_expr) for item in node.items) else Surely.YES
    return Surely.YES if isinstance(node, ast.ClassDef) else Surely.PERHAPS


def _condition(node: ast.If, surely: Surely, *, is_target: bool) -> Iterator[Import]:
    words = {_last_name(one) for one in ast.walk(node.test)}
    if "TYPE_CHECKING" in words:
        yield from _statements(node.orelse, surely, is_target=is_target)
        return
    begins = is_target and "__name__" in words
    # What is for other versions and systems alone is, on this one, no more needed than what may fail.
    within = max(surely, Surely.GUARDED if words & SYSTEMS else Surely.PERHAPS)
    yield from _statements(node.body, surely if begins else within, is_target=is_target)
    yield from _statements(node.orelse, within, is_target=is_target)


def _attempt(node: ast.AST, surely: Surely, *, is_target: bool) -> Iterator[Import]:
    assert isinstance(node, ast.Try) or hasattr(node, "handlers")
    handlers: list[ast.ExceptHandler] = node.handlers
    guarded = any(handler.type is None or _catches(handler.type) for handler in handlers)
    yield from _statements(node.body, Surely.GUARDED if guarded else surely, is_target=is_target)  # type: ignore[attr-defined]
    for handler in handlers:
        within = Surely.GUARDED if guarded else Surely.PERHAPS
        yield from _statements(handler.body, max(surely, within), is_target=is_target)
    for part in (node.orelse, node.finalbody):  # type: ignore[attr-defined]
        yield from _statements(part, Surely.GUARDED if guarded else surely, is_target=is_target)


def _catches(kind: ast.expr) -> bool:
    return any(_last_name(one) in CATCHES for one in (kind.elts if isinstance(kind, ast.Tuple) else [kind]))


def _suppresses(call: ast.expr) -> bool:
    if not isinstance(call, ast.Call) or _last_name(call.func) != "suppress":
        return False
    return any(_catches(one) for one in call.args)


def _last_name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
