"""Names of objects: every key has one, they sort as keys do, and none holds a line end."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from outlast.errors import UsageError
from outlast.google.buckets import Bucket, check_name, region_note
from outlast.store.gcs_home import split_url
from outlast.store.gcs_names import Names, decoded, encoded

odd = st.text(alphabet=st.sampled_from("\t\n\x0b\f\r\x01\x02\x08\x0e!a%\U0001f600é"), max_size=8)


@given(odd, odd)
@example("a\n", "a\t")
@example("\t\x01", "\t\x02")
def test_names_come_back_as_keys_and_sort_as_keys_do(one: str, other: str) -> None:
    assert decoded(encoded(one)) == one
    assert not set("\r\n") & set(encoded(one))
    assert (one.encode() < other.encode()) == (encoded(one).encode() < encoded(other).encode())
    assert encoded(one + other) == encoded(one) + encoded(other)


@given(odd)
def test_what_no_key_is_called_is_no_key(name: str) -> None:
    key = decoded(name)
    assert key is None or encoded(key) == name or "\r" in name or "\n" in name


def test_a_home_sees_only_what_is_below_its_place() -> None:
    names = Names("some/place/")
    assert names.of("a/b") == "some/place/a/b"
    assert names.key("some/place/a/b") == "a/b"
    assert names.key("some/other/a/b") is None


@pytest.mark.parametrize(
    ("url", "parts"),
    [("gs://b-1", ("b-1", "")), ("gs://b-1/", ("b-1", "")), ("gs://b-1/x/y/", ("b-1", "x/y")), ("gs://", ("", ""))],
)
def test_a_url_names_a_bucket_and_a_place_in_it(url: str, parts: tuple[str, str]) -> None:
    assert split_url(url) == parts


@pytest.mark.parametrize(
    "url", ["gs:bucket", "gs://Bucket", "gs://b", "gs://goog-x", "gs://1.2.3.4", "gs://b-1/../x", "gs://b-1//x",
            "gs://b-1/" + "x" * 300, "gs://-bucket"]
)  # fmt: skip
def test_what_names_no_bucket_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        split_url(url)


def test_a_bucket_may_have_dots_and_underscores() -> None:
    assert check_name("my_bucket.example.com") == "my_bucket.example.com"


@pytest.mark.parametrize(
    ("location", "region", "warned"),
    [("us-central1", "us-central1", False), ("us-central1", "us-east1", True), ("us", "us-east1", False),
     ("eu", "europe-west4", False), ("eu", "us-east1", True), ("", "us-east1", False), ("us-central1", "", False)],
)  # fmt: skip
def test_a_bucket_in_another_region_than_the_machines_is_warned_about(location: str, region: str, warned: bool) -> None:
    note = region_note(Bucket("b", location), region)
    assert bool(note) == warned
    assert not warned or (location in note and region in note)
