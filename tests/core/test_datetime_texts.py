"""Moments in the form of other programs: exactly that form is written and read, and the order of texts is the order of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surewrite as sw
from surewrite import DefinitionError
from surewrite.core.codecs import Undecodable, Unstorable

MILLISECONDS = "%Y-%m-%dT%H:%M:%S.%3fZ"
ISOFORMAT = "%Y-%m-%dT%H:%M:%S[.%f]+00:00"
HOUR_EAST = timezone(timedelta(hours=1))
EIGHT = datetime(2026, 11, 5, 8, tzinfo=UTC)

EXAMPLES: list[tuple[str, timezone, datetime, str]] = [
    (MILLISECONDS, UTC, EIGHT.replace(microsecond=120000), "2026-11-05T08:00:00.120Z"),
    (ISOFORMAT, UTC, EIGHT, EIGHT.isoformat()),
    (ISOFORMAT, UTC, EIGHT.replace(microsecond=7), EIGHT.replace(microsecond=7).isoformat()),
    ("%Y-%m-%dT%H:%M:%S.%f+0000", UTC, EIGHT, "2026-11-05T08:00:00.000000+0000"),
    ("%Y-%m-%dT%H:%M:%S+01:00", HOUR_EAST, EIGHT, "2026-11-05T09:00:00+01:00"),
    ("%Y%m%d%H%M%S", UTC, EIGHT, "20261105080000"),
    ("%Y-%m-%d %H:%M:%S[.%3f]", UTC, EIGHT, "2026-11-05 08:00:00"),
    ("%Y/%m/%d 100%%", UTC, datetime(26, 11, 5, tzinfo=UTC), "0026/11/05 100%"),
]


@pytest.mark.parametrize(("form", "zone", "moment", "text"), EXAMPLES)
def test_a_moment_is_written_in_the_form_and_read_back(form: str, zone: timezone, moment: datetime, text: str) -> None:
    codec = sw.datetime_text(form, zone=zone)
    assert codec.store(moment.astimezone(HOUR_EAST)) == {"S": text}
    assert codec.decode({"S": text}) == moment
    assert codec.decode({"S": text}).tzinfo is UTC


@pytest.mark.parametrize(
    "stored",
    [
        {"S": "2026-11-05T08:00:00+00:00"}, {"S": "2026-11-05T08:00:00.000000Z"}, {"S": "2026-11-05T08:00:00.000Z "}, {"S": "2026-13-05T08:00:00.000Z"},
        {"S": "٢026-11-05T08:00:00.000Z"}, {"S": ""}, {"N": "5"}, {"S": 5},
    ],
)  # fmt: skip
def test_a_text_of_another_form_is_not_read(stored: dict[str, Any]) -> None:
    with pytest.raises(Undecodable, match="of the form"):
        sw.datetime_text(MILLISECONDS).decode(stored)


def test_a_fraction_that_the_form_leaves_out_is_not_read_as_written_zeros() -> None:
    with pytest.raises(Undecodable, match="of another form"):
        sw.datetime_text(ISOFORMAT).decode({"S": "2026-11-05T08:00:00.000000+00:00"})


@pytest.mark.parametrize(
    ("form", "value", "says"),
    [
        (MILLISECONDS, EIGHT.replace(microsecond=1), "keeps whole"),
        ("%Y-%m-%d", EIGHT, "keeps whole"),
        (MILLISECONDS, datetime(2026, 11, 5, 8), "aware"),  # noqa: DTZ001 - what is refused
        (MILLISECONDS, "2026", "takes datetime"),
    ],
)
def test_a_moment_that_the_form_does_not_keep_is_refused(form: str, value: object, says: str) -> None:
    with pytest.raises(Unstorable, match=says):
        sw.datetime_text(form).store(value)


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ("%d.%m.%Y", "order of time"),
        ("%Y-%m", "order of time"),
        ("%Y-%m-%d %M", "order of time"),
        ("%Y-%m-%d %Y", "order of time"),
        ("%Y-%m-%dT%H:%M:%S[.%f]Z", "without a fraction would be later"),
        ("%Y-%m-%dT%H:%M:%S[%f]Z", "without a fraction would be later"),
        ("%Y-%m-%d[T%H]", "brackets"),
        ("%Y-%m-%dT%H:%M:%S[.", "takes %Y"),
        ("%Y-%m-%d %z", "takes %Y"),
    ],
)
def test_a_form_whose_texts_are_not_in_the_order_of_time_is_refused(form: str, says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        sw.datetime_text(form)


def test_a_zone_with_summer_time_is_refused() -> None:
    with pytest.raises(DefinitionError, match="fixed offset"):
        sw.datetime_text(MILLISECONDS, zone=ZoneInfo("Europe/Zurich"))  # type: ignore[arg-type]


MOMENTS = st.datetimes(timezones=st.just(UTC)).flatmap(lambda moment: st.sampled_from([moment, moment.replace(microsecond=0)]))


@given(first=MOMENTS, second=MOMENTS, form=st.sampled_from([ISOFORMAT, "%Y-%m-%dT%H:%M:%S.%f+0000", "%Y%m%d%H%M%S[%f]"]))
def test_the_order_of_texts_is_the_order_of_time(first: datetime, second: datetime, form: str) -> None:
    codec = sw.datetime_text(form)
    texts = [codec.store(moment)["S"] for moment in (first, second)]
    assert (texts[0] < texts[1]) == (first < second)
    assert (texts[0] == texts[1]) == (first == second)
    assert [codec.decode({"S": text}) for text in texts] == [first, second]
