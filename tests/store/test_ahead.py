"""Calls that a crew makes before their answers are asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from outlast.store.crew import Crew
from outlast.store.crew_ahead import AHEAD_MAX

THREADS = 3


def test_answers_come_in_the_order_of_their_calls_and_what_follows_one_comes_right_after_it() -> None:
    def call(text: str) -> str:
        return text

    def following(text: str) -> list[Callable[[], str]]:
        return [partial(call, f"{text}.{number}") for number in range(int(text) % 5)] if text.isdigit() else []

    came = list(Crew(THREADS).ahead((partial(call, str(number)) for number in range(300)), following=following))
    wanted: list[str] = []
    for number in range(300):
        wanted += [str(number), *(f"{number}.{further}" for further in range(number % 5))]
    assert came == wanted


def test_no_more_is_held_than_there_is_room_for_whatever_the_order_in_which_it_comes() -> None:
    lock = threading.Lock()
    begun, taken, most = 0, 0, 0

    def call(number: int) -> int:
        nonlocal begun, most
        with lock:
            begun += 1
            most = max(most, begun - taken)
        return number

    def following(number: int) -> list[Callable[[], int]]:
        return [partial(call, 100 + further) for further in range(7)] if number < 100 else []

    answers = Crew(THREADS).ahead(
        (partial(call, number) for number in range(40)), following=following, size=lambda answer: 8, size_max=8
    )
    for _ in answers:
        with lock:
            taken += 1
    assert taken == 40 * 8
    # One that was given out is counted until the next one is asked for.
    assert most <= THREADS + 2


def test_small_answers_are_asked_for_far_ahead_and_calls_are_taken_only_by_who_wants_the_answers() -> None:
    takers: set[int] = set()

    def calls() -> Iterator[Callable[[], int]]:
        for number in range(200):
            takers.add(threading.get_ident())
            learned.append(number)
            yield partial(int, number)

    learned: list[int] = []
    answers = Crew(THREADS).ahead(calls(), size=lambda answer: 1, size_max=1 << 20)
    assert next(answers) == 0
    assert len(learned) == AHEAD_MAX
    assert list(answers) == list(range(1, 200))
    assert takers == {threading.get_ident()}


def test_what_is_needed_now_is_asked_for_although_an_answer_was_larger_than_all_room() -> None:
    came = threading.Event()

    def large() -> int:
        came.set()
        return 1000

    def first() -> int:
        came.wait(60)
        return 1

    def following(number: int) -> list[Callable[[], int]]:
        return [partial(int, -8)] * 9 if number == 1 else []

    answers = Crew(THREADS).ahead([first, large], following=following, size=abs, size_max=8)
    assert list(answers) == [1, *[-8] * 9, 1000]


def test_what_a_call_raises_is_raised_in_its_turn() -> None:
    def call(number: int) -> int:
        return 6 // (3 - number)

    answers = Crew(THREADS).ahead(partial(call, number) for number in range(9))
    assert [next(answers) for _ in range(3)] == [2, 3, 6]
    with pytest.raises(ZeroDivisionError):
        next(answers)


def test_the_same_crew_serves_others_while_somebody_has_stopped_to_take_answers() -> None:
    crew = Crew(THREADS)
    answers = crew.ahead((partial(int, number) for number in range(200)), size=lambda answer: 8, size_max=8)
    for number, answer in enumerate(answers):
        assert answer == number
        if number == 20:
            assert list(crew.ahead(partial(int, other) for other in range(100))) == list(range(100))
            crew.each((partial(int, other) for other in range(100)), lambda: None)


def test_what_nobody_wants_any_more_is_not_begun() -> None:
    begun: list[int] = []
    answers = Crew(THREADS).ahead(
        (partial(begun.append, number) for number in range(50)), size=lambda answer: 8, size_max=8
    )
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert len(begun) <= THREADS + 3
