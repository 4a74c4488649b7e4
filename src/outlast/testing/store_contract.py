"""What every store promises, as checks: call each with a function that opens one more handle on one, at first empty, place.

    for check in PROMISES + CASE_PROMISES + SHARED_PROMISES:
        check(lambda: MyStore(fresh_url))

`SHARED_PROMISES` are for stores that several threads and processes use at once, which a dry run, say, is not.
"""

from __future__ import annotations

from outlast.testing.store_checks_alone import (
    Check,
    Open,
    a_delete_with_a_condition_needs_the_newest_generation,
    a_write_with_a_condition_needs_the_newest_generation,
    a_write_without_condition_wins_and_has_a_new_generation,
    an_object_is_created_once,
    an_upload_that_breaks_off_changes_nothing_and_raises_what_broke_it,
    it_says_where_it_is_and_how_often_to_look,
    random_calls_are_answered_like_a_dictionary_would,
    several_are_created_at_once_and_each_once,
    what_is_missing_is_said_to_be_missing,
    what_was_deleted_is_gone_and_its_generations_never_come_back,
    what_was_purged_leaves_nothing,
    what_was_written_is_read_byte_for_byte,
)
from outlast.testing.store_checks_keys import (
    a_list_is_in_the_order_of_bytes_and_begins_and_ends_where_asked,
    an_illegal_key_is_refused_by_every_call,
    every_legal_key_is_an_object_of_its_own,
    keys_that_only_a_careless_file_system_confuses_are_different,
)
from outlast.testing.store_checks_shared import (
    a_reader_never_sees_less_than_before_nor_half_of_anything,
    another_handle_sees_every_write_at_once,
    it_can_be_used_after_a_fork,
    of_several_who_create_one_succeeds,
    several_who_count_lose_no_count,
)

__all__ = ["CASE_PROMISES", "PROMISES", "SHARED_PROMISES", "Check", "Open"]

PROMISES: tuple[Check, ...] = (
    what_is_missing_is_said_to_be_missing,
    what_was_written_is_read_byte_for_byte,
    an_object_is_created_once,
    several_are_created_at_once_and_each_once,
    a_write_with_a_condition_needs_the_newest_generation,
    a_write_without_condition_wins_and_has_a_new_generation,
    what_was_deleted_is_gone_and_its_generations_never_come_back,
    a_delete_with_a_condition_needs_the_newest_generation,
    what_was_purged_leaves_nothing,
    a_list_is_in_the_order_of_bytes_and_begins_and_ends_where_asked,
    every_legal_key_is_an_object_of_its_own,
    an_illegal_key_is_refused_by_every_call,
    an_upload_that_breaks_off_changes_nothing_and_raises_what_broke_it,
    random_calls_are_answered_like_a_dictionary_would,
    it_says_where_it_is_and_how_often_to_look,
)

CASE_PROMISES: tuple[Check, ...] = (keys_that_only_a_careless_file_system_confuses_are_different,)
"""Kept by all but a directory on such a file system (macOS)."""

SHARED_PROMISES: tuple[Check, ...] = (
    another_handle_sees_every_write_at_once,
    several_who_count_lose_no_count,
    of_several_who_create_one_succeeds,
    a_reader_never_sees_less_than_before_nor_half_of_anything,
    it_can_be_used_after_a_fork,
)
