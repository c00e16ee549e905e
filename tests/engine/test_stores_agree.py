"""The same requests on both stores give the same answers, whatever they are."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.engine.harness import Clock, create_table, index

from surewrite.engine.faults import ServiceError
from surewrite.engine.service import Service
from surewrite.engine.stores.memory import MemoryStore
from surewrite.engine.stores.sqlite import SqliteStore

PARTITIONS = st.sampled_from(["a", "b", "b\x00", "é"])
NUMBERS = st.sampled_from(["-1", "0", "1", "1.0", "2.5", "1e3"])
KEYS = st.builds(lambda pk, sk: {"pk": {"S": pk}, "sk": {"N": sk}}, PARTITIONS, NUMBERS)
TEXTS = st.sampled_from(["", "x", "y", "y\x00", "yz"])
VALUES = st.one_of(
    st.builds(lambda content: {"S": content}, TEXTS),
    st.builds(lambda content: {"N": content}, NUMBERS),
    st.builds(lambda content: {"SS": content}, st.lists(TEXTS, max_size=3)),
    st.just({"NULL": True}),
)
ATTRIBUTES = st.dictionaries(st.sampled_from(["g", "h", "x", "ttl"]), VALUES, max_size=3)
ITEMS = st.builds(lambda key, more: {**key, **more}, KEYS, ATTRIBUTES)
CONDITIONS = st.sampled_from([None, "attribute_exists(pk)", "attribute_not_exists(pk)", "g = x", "NOT x < g", "size(x) > g"])
UPDATES = st.sampled_from([None, "SET x = g", "ADD x sk", "REMOVE g, h", "SET g = x, x = g", "SET h = sk - sk", "SET x = if_not_exists(g, sk)", "SET pk = g"])
TOKENS = st.sampled_from([None, "one", "two"])
RETURNS = st.sampled_from([None, "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
CAPACITY = st.sampled_from([None, "TOTAL", "INDEXES"])
ACTIONS = st.one_of(
    st.builds(lambda item, condition: {"Put": {"TableName": "shop", "Item": item, "ConditionExpression": condition}}, ITEMS, CONDITIONS),
    st.builds(lambda key, condition: {"Delete": {"TableName": "shop", "Key": key, "ConditionExpression": condition}}, KEYS, CONDITIONS),
    st.builds(lambda key, update: {"Update": {"TableName": "shop", "Key": key, "UpdateExpression": update}}, KEYS, UPDATES),
    st.builds(lambda key: {"ConditionCheck": {"TableName": "shop", "Key": key, "ConditionExpression": "attribute_exists(pk)"}}, KEYS),
)


def without_id(answer: Any) -> Any:
    """The answer without the id of a table, which is drawn by chance."""
    if not isinstance(answer, dict):
        return answer
    shown = ("Table", "TableDescription")
    return answer | {name: {member: value for member, value in answer[name].items() if member != "TableId"} for name in shown if name in answer}


class StoresAgree(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock()
        self.services = [Service(MemoryStore(), clock=self.clock), Service(SqliteStore(Path(self.folder.name) / "shop.db"), clock=self.clock)]
        self.held: list[list[Any]] = []

    def teardown(self) -> None:
        for service in self.services:
            service.close()
        self.folder.cleanup()

    @initialize()
    def make_table(self) -> None:
        for service in self.services:
            create_table(
                service,
                keys=(("pk", "S"), ("sk", "N")),
                global_indexes=[index("by_g", "g", "h", projection="INCLUDE", included=["x"]), index("by_x", "x", projection="KEYS_ONLY")],
                local_indexes=[index("local", "pk", "g", projection="KEYS_ONLY")],
                extra_types={"g": "S", "h": "N", "x": "S"},
                StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            )
            service.execute("UpdateTimeToLive", {"TableName": "shop", "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "ttl"}})

    def both(self, act: Callable[[Service], Any]) -> Any:
        first, second = (self.told(act, service) for service in self.services)
        assert first == second
        return first

    @staticmethod
    def told(act: Callable[[Service], Any], service: Service) -> Any:
        try:
            return without_id(act(service))
        except ServiceError as error:
            return (error.code, error.message, error.item, error.reasons)

    def execute(self, operation: str, **members: Any) -> Any:
        return self.both(lambda service: service.execute(operation, members))

    @rule(item=ITEMS, condition=CONDITIONS, capacity=CAPACITY)
    def put(self, item: dict[str, Any], condition: str | None, capacity: str | None) -> None:
        shown = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD", "ReturnConsumedCapacity": capacity, "ReturnValues": "ALL_OLD"}
        self.execute("PutItem", TableName="shop", Item=item, ConditionExpression=condition, **shown)

    @rule(key=KEYS, update=UPDATES, condition=CONDITIONS, wanted=RETURNS, capacity=CAPACITY)
    def update(self, key: dict[str, Any], update: str | None, condition: str | None, wanted: str | None, capacity: str | None) -> None:
        shown = {"ReturnValues": wanted, "ReturnConsumedCapacity": capacity}
        self.execute("UpdateItem", TableName="shop", Key=key, UpdateExpression=update, ConditionExpression=condition, **shown)

    @rule(key=KEYS, condition=CONDITIONS)
    def delete(self, key: dict[str, Any], condition: str | None) -> None:
        self.execute("DeleteItem", TableName="shop", Key=key, ConditionExpression=condition, ReturnValues="ALL_OLD")

    @rule(actions=st.lists(ACTIONS, min_size=1, max_size=3), token=TOKENS, capacity=CAPACITY)
    def transact(self, actions: list[dict[str, Any]], token: str | None, capacity: str | None) -> None:
        self.execute("TransactWriteItems", TransactItems=actions, ClientRequestToken=token, ReturnConsumedCapacity=capacity)

    @rule(actions=st.lists(ACTIONS, min_size=1, max_size=2), token=TOKENS)
    def hold(self, actions: list[dict[str, Any]], token: str | None) -> None:
        held: list[Any] = []

        def begin(service: Service) -> None:
            held.append(service.hold_transaction({"TransactItems": actions, "ClientRequestToken": token}))

        self.both(begin)
        if held:
            self.held.append(held)

    @rule(commits=st.booleans())
    def end_held(self, commits: bool) -> None:
        if self.held:
            memory, sqlite = self.held.pop(0)
            by_service = dict(zip(self.services, (memory, sqlite), strict=True))
            self.both(lambda service: by_service[service].commit() if commits else by_service[service].cancel())

    @rule(key=KEYS, projection=st.sampled_from([None, "g, x", "pk, ttl", "g.h[0]", "sk, sk"]))
    def get(self, key: dict[str, Any], projection: str | None) -> None:
        self.execute("GetItem", TableName="shop", Key=key, ProjectionExpression=projection, ReturnConsumedCapacity="TOTAL")

    @rule(name=st.sampled_from(["shop", "other", "none"]))
    def describe(self, name: str) -> None:
        self.execute("DescribeTable", TableName=name)
        self.execute("DescribeTimeToLive", TableName=name)
        self.execute("ListTables", Limit=1)

    @rule(name=st.sampled_from(["other", "none"]))
    def make_another_table(self, name: str) -> None:
        schema = {"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}
        self.execute("CreateTable", TableName=name, BillingMode="PAY_PER_REQUEST", **schema)
        self.execute("PutItem", TableName=name, Item={"pk": {"S": "a"}})
        self.execute("UpdateTimeToLive", TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "ends"})

    @rule(name=st.sampled_from(["other", "none"]))
    def delete_another_table(self, name: str) -> None:
        self.execute("DeleteTable", TableName=name)

    @rule(created=st.booleans(), keys=st.sampled_from([("x",), ("x", "sk"), ("ttl", "pk")]))
    def change_indexes(self, created: bool, keys: tuple[str, ...]) -> None:
        types = {"x": "S", "sk": "N", "ttl": "N", "pk": "S"}
        definitions = [{"AttributeName": name, "AttributeType": types[name]} for name in keys]
        update: dict[str, Any] = {"Create": index("more", *keys)} if created else {"Delete": {"IndexName": "more"}}
        self.execute("UpdateTable", TableName="shop", AttributeDefinitions=definitions, GlobalSecondaryIndexUpdates=[update])

    @rule(keys=st.lists(KEYS, min_size=1, max_size=3))
    def read_together(self, keys: list[dict[str, Any]]) -> None:
        self.execute("TransactGetItems", TransactItems=[{"Get": {"TableName": "shop", "Key": key}} for key in keys])
        self.execute("BatchGetItem", RequestItems={"shop": {"Keys": keys}})

    @rule(items=st.lists(ITEMS, min_size=1, max_size=3), key=KEYS)
    def write_batch(self, items: list[dict[str, Any]], key: dict[str, Any]) -> None:
        self.execute("BatchWriteItem", RequestItems={"shop": [*({"PutRequest": {"Item": item}} for item in items), {"DeleteRequest": {"Key": key}}]})

    @rule(
        partition=PARTITIONS,
        condition=st.sampled_from(["", " AND sk > :n", " AND sk BETWEEN :m AND :n"]),
        bound=NUMBERS,
        forward=st.booleans(),
        limit=st.integers(1, 3),
    )
    def query(self, partition: str, condition: str, bound: str, forward: bool, limit: int) -> None:
        values = {":p": {"S": partition}} | ({":n": {"N": bound}} if ":n" in condition else {}) | ({":m": {"N": "-5"}} if ":m" in condition else {})
        members = {"KeyConditionExpression": "pk = :p" + condition, "ExpressionAttributeValues": values, "ScanIndexForward": forward}
        self.walk("Query", limit, TableName="shop", **members)

    @rule(name=st.sampled_from(["by_g", "by_x", "local"]), content=TEXTS, forward=st.booleans(), limit=st.integers(1, 3))
    def query_index(self, name: str, content: str, forward: bool, limit: int) -> None:
        hashed = {"by_g": "g", "by_x": "x", "local": "pk"}[name]
        members = {"KeyConditionExpression": f"{hashed} = :v", "ExpressionAttributeValues": {":v": {"S": content or "a"}}, "ScanIndexForward": forward}
        self.walk("Query", limit, TableName="shop", IndexName=name, ReturnConsumedCapacity="INDEXES", **members)

    @rule(name=st.sampled_from([None, "by_g", "by_x", "local", "more"]), total=st.integers(1, 3), limit=st.integers(1, 4))
    def scan(self, name: str | None, total: int, limit: int) -> None:
        for segment in range(total):
            self.walk("Scan", limit, TableName="shop", IndexName=name, Segment=segment, TotalSegments=total)

    def walk(self, operation: str, limit: int, **members: Any) -> None:
        start = None
        for _ in range(100):
            page = self.execute(operation, Limit=limit, ExclusiveStartKey=start, **members)
            start = page.get("LastEvaluatedKey") if isinstance(page, dict) else None
            if start is None:
                return
        raise AssertionError("the pages do not end")

    @rule(seconds=st.sampled_from([1.0, 400.0, 90_000.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def sweep(self) -> None:
        self.both(Service.sweep_expired)

    @invariant()
    def same_items_and_records(self) -> None:
        if self.both(lambda service: service.execute("ListTables", {}))["TableNames"]:
            self.both(lambda service: service.execute("Scan", {"TableName": "shop"}))
            self.both(lambda service: service.stream_records("shop"))


TestStoresAgree = StoresAgree.TestCase
TestStoresAgree.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
