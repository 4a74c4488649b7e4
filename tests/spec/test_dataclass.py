"""Our `dataclass` makes the classes that the standard library makes, only later."""

from __future__ import annotations

import copy
import dataclasses
import functools
import pickle
import threading
from collections.abc import Callable
from dataclasses import field
from typing import Any, Generic, TypeVar

import pytest

from outlast.dataclass import COMPILED_AFTER, FIELDS, Later, dataclass, replace  # type: ignore[attr-defined]

T = TypeVar("T")


def _classes(dataclass: Callable[..., Any]) -> dict[str, Any]:
    """The same ones by one or the other."""

    @dataclass(frozen=True)
    class Frozen:
        put: int
        unset: list[int] = field(default_factory=list)
        hidden: str = field(default="", repr=False, compare=False)

    @dataclass(frozen=True)
    class Heir(Frozen):
        more: int = 3

        def __post_init__(self) -> None:
            if self.more < 0:
                raise ValueError(self.more)

    class Plain(Heir):
        pass

    @dataclass
    class Open(Generic[T]):
        value: T
        others: dict[str, int] = field(default_factory=dict)

    @dataclass(frozen=True, kw_only=True)
    class Named:
        b: int
        a: int = 1

    @dataclass(eq=False)
    class Itself:
        a: int = 1

    @dataclass(frozen=True)
    class Nothing:
        pass

    @dataclass(frozen=True)
    class Own:
        a: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "mine"

    @dataclass(frozen=True)
    class Found:
        a: int

        @functools.cached_property
        def twice(self) -> int:
            return 2 * self.a

        def __hash__(self) -> int:
            return self.twice

    return {one.__name__: one for one in (Frozen, Heir, Plain, Open, Named, Itself, Nothing, Own, Found)}


CALLS: list[Callable[[dict[str, Any]], Any]] = [
    lambda k: k["Frozen"](1),
    lambda k: k["Frozen"](1, [2], "x"),
    lambda k: k["Frozen"](put=1) == k["Frozen"](1, hidden="other"),
    lambda k: k["Heir"](1) == k["Frozen"](1),
    lambda k: k["Heir"](1, more=4),
    lambda k: k["Heir"](1, more=-4),
    lambda k: k["Plain"](1),
    lambda k: k["Plain"](1) == k["Plain"](1),
    lambda k: k["Plain"](1) == k["Heir"](1),
    lambda k: k["Frozen"](),
    lambda k: k["Frozen"](1, 2, 3, 4),
    lambda k: k["Frozen"](1, unknown=2),
    lambda k: k["Open"][int](3) == k["Open"](3),
    lambda k: k["Open"](3),
    lambda k: hash(k["Open"](3)),
    lambda k: hash(k["Named"](b=1)) == hash(k["Named"](b=1)),
    lambda k: k["Named"](1),
    lambda k: k["Named"](b=2),
    lambda k: k["Itself"]() == k["Itself"](),
    lambda k: k["Nothing"]() == k["Nothing"](),
    lambda k: k["Own"](1) == k["Own"](2),
    lambda k: (hash(k["Own"](1)), repr(k["Own"](1))),
    lambda k: setattr(k["Heir"](1), "put", 2),
    lambda k: setattr(k["Heir"](1), "new", 2),
    lambda k: delattr(k["Heir"](1), "put"),
    lambda k: setattr(k["Open"](1), "value", 2),
    lambda k: dataclasses.asdict(k["Heir"](1)),
    lambda k: dataclasses.replace(k["Heir"](1), put=5),
    lambda k: [one.name for one in dataclasses.fields(k["Plain"])],
    lambda k: dataclasses.is_dataclass(k["Open"]),
    lambda k: copy.deepcopy(k["Heir"](1)) == k["Heir"](1),
    lambda k: k["Frozen"](1).unset is k["Frozen"](1).unset,
    lambda k: k["Heir"](1).__match_args__,
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_a_class_behaves_as_the_standard_librarys(number: int) -> None:
    expected = _answer(CALLS[number], _classes(dataclasses.dataclass))
    ours = _classes(dataclass)
    for _ in range(COMPILED_AFTER + 2):  # at first, and when it is compiled
        assert _answer(CALLS[number], ours) == expected


@pytest.mark.parametrize(
    "change",
    [
        lambda k, replace: replace(k["Frozen"](1), put=5),
        lambda k, replace: replace(k["Frozen"](1, hidden="kept"), put=5).hidden,
        lambda k, replace: replace(k["Heir"](1), more=-4),
        lambda k, replace: replace(k["Plain"](1), more=4),
        lambda k, replace: replace(k["Frozen"](1), unknown=5),
        lambda k, replace: replace(k["Open"](1), value=2),
        lambda k, replace: (one := k["Found"](1), one.twice, replace(one, a=2).twice),
    ],
)
def test_one_that_is_changed_is_as_the_standard_library_would_change_it(change: Callable[..., Any]) -> None:
    assert _answer(lambda k: change(k, replace), _classes(dataclass)) == _answer(
        lambda k: change(k, dataclasses.replace), _classes(dataclasses.dataclass)
    )


def test_a_class_without_a_description_has_none_afterwards() -> None:
    @dataclass
    class Silent:
        a: int

    Silent(1)
    assert Silent.__doc__ is None


def _answer(call: Callable[[dict[str, Any]], Any], classes: dict[str, Any]) -> tuple[str, str]:
    try:
        return "", repr(call(classes))
    except Exception as error:  # whatever the standard library raises, ours does
        return type(error).__name__, "" if isinstance(error, dataclasses.FrozenInstanceError) else str(error)


def test_nothing_is_made_before_the_class_is_used() -> None:
    @dataclass
    class Unused:
        a: int

    assert isinstance(Unused.__dict__[FIELDS], Later)
    Unused(1)
    assert not isinstance(Unused.__dict__[FIELDS], Later)


def test_threads_that_use_a_class_for_the_first_time_all_find_it_whole() -> None:
    for _ in range(50):

        @dataclass(frozen=True)
        class Shared:
            a: int
            b: tuple[int, ...] = ()

        begin = threading.Barrier(4)
        made: list[Any] = []

        def use(kind: Any = Shared, begin: threading.Barrier = begin, made: list[Any] = made) -> None:
            begin.wait()
            made.append(kind(1))

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [Shared(1)] * 4


@dataclass(frozen=True)
class Pickled:
    a: int = 1


def test_an_instance_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Pickled(2))) == Pickled(2)
