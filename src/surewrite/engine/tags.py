"""Belongs here: the operations on the tags of a table. Must not be here: what CreateTable checks of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from surewrite.core import limits
from surewrite.engine.context import Context
from surewrite.engine.faults import ServiceError, validation
from surewrite.engine.members import Member, Shapes, require_none, table_name
from surewrite.engine.schemas import Table, definition_text
from surewrite.engine.stores.store import Session
from surewrite.engine.table_members import tag_faults

_ARN: Final = re.compile(r"arn:[a-z0-9-]+:dynamodb:[a-z0-9-]*:[0-9]*:table/[a-zA-Z0-9_.-]+", re.ASCII)
_RESOURCE: Final = Member("ResourceArn", "string", required=True, least=1, most=1283)
_TAG: Final = Shapes("TagResource", (_RESOURCE, Member("Tags", "list", required=True)))
_UNTAG: Final = Shapes("UntagResource", (_RESOURCE, Member("TagKeys", "list", required=True)))
_LIST: Final = Shapes("ListTagsOfResource", (_RESOURCE, Member("NextToken", "string")))


def tag_resource(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """TagResource: a key that is there gets the new value."""
    _TAG.check_shapes(body)
    require_none(_TAG.faults(body) + tag_faults(body.get("Tags")))
    if not body["Tags"]:
        raise validation("Atleast one Tag needs to be provided as Input.")
    with context.store.session(write=True) as session:
        table = _tagged(context, session, body["ResourceArn"])
        _keep(session, table, {**table.tags, **tags_of(body["Tags"])})
    return {}


def untag_resource(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """UntagResource: a key that is not there is passed over."""
    _UNTAG.check(body)
    if not body["TagKeys"]:
        raise validation("Atleast one Tag Key needs to be provided as Input.")
    with context.store.session(write=True) as session:
        table = _tagged(context, session, body["ResourceArn"])
        _keep(session, table, {key: value for key, value in table.tags.items() if key not in body["TagKeys"]})
    return {}


def list_tags_of_resource(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """ListTagsOfResource: all tags in one answer."""
    _LIST.check(body)
    with context.store.session(write=False) as session:
        table = _tagged(context, session, body["ResourceArn"])
    return {"Tags": [{"Key": key, "Value": value} for key, value in table.tags.items()]}


def tags_of(tags: list[Mapping[str, str]]) -> dict[str, str]:
    """Tags as they are kept; of one key the last one counts. Raises where they are too many."""
    kept = {tag["Key"]: tag["Value"] for tag in tags}
    _check_count(kept)
    return kept


def _check_count(tags: Mapping[str, str]) -> None:
    if len(tags) > limits.TABLE_TAGS:
        raise validation(f"One or more parameter values were invalid: Too many tags: a table has at most {limits.TABLE_TAGS}")


def _keep(session: Session, table: Table, tags: Mapping[str, str]) -> None:
    _check_count(tags)
    session.put_definition(table.name, definition_text(table.description, table.time_to_live, tags))


def _tagged(context: Context, session: Session, arn: str) -> Table:
    if not _ARN.fullmatch(arn):
        raise validation(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    table = context.catalogue.find(session, table_name(arn))
    if table is None:
        # The missing letter is the service's.
        raise ServiceError("ResourceNotFoundException", f"Requested resource not found: ResourcArn: {arn} not found")
    return table
