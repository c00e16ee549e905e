"""Clients side by side: each makes the same three writes in its own usual way.

Belongs here: one class a client, with the settings that it has when nobody sets any. Must not be here: faults, clocks, tables of results.

A class is made with the endpoint and the name of a table with the text keys ``pk`` and ``sk``. Its methods are awaited; those of a
client that blocks never wait, so they cost the same as a call. They return a word: ``applied``, ``refused`` or ``unknown``; every
other error is ``failed``. A client that is not installed is left out.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Literal, Protocol

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity

with contextlib.suppress(ImportError):
    # Not where it is used, as the others: it resolves the annotations of a model by the names of the module.
    import dynamoxy

Word = Literal["applied", "refused", "unknown", "failed"]

REGION = "eu-west-1"
KEY_ID = "AKIDEXAMPLE"
SECRET = "secret"
TALLY_KEY = {"pk": "TALLY#visits", "sk": "TALLY"}
PAGE_KEY = {"pk": "PAGE#home", "sk": "PAGE"}


class Contender(Protocol):
    name: str

    async def open(self) -> None:
        """Connect, and store the row that ``save`` begins with."""
        ...

    async def add_one(self) -> Word:
        """Count one up on the server: ``ADD n 1`` in the row ``TALLY_KEY``."""
        ...

    async def create(self, number: int) -> Word:
        """Make an item under a fresh key."""
        ...

    async def save(self) -> Word:
        """Store the page again, if nobody did since it was read. After a refusal it is read again."""
        ...

    async def close(self) -> None: ...


class Tally(Entity, discriminator="TALLY", partition_key="TALLY#{id}", sort_key="TALLY"):
    id: Attribute[str]
    n: Attribute[int] = sw.attribute(default=0)
    seen: Attribute[frozenset[str]] = sw.attribute(default=frozenset())


class Page(VersionedEntity, discriminator="PAGE", partition_key="PAGE#{id}", sort_key="PAGE"):
    id: Attribute[str]
    title: Attribute[str] = sw.attribute(default="a page with a title of some length")
    owner: Attribute[str] = sw.attribute(default="alice@example.com")
    balance: Attribute[Decimal] = sw.attribute(default=Decimal("12.50"))
    reads: Attribute[int] = sw.attribute(default=0)
    version: Attribute[int | None] = sw.version()


VISITS = Tally.key_of("visits")


class Surewrite:
    name = "surewrite"

    def __init__(self, url: str, table: str) -> None:
        self._url, self._table = url, table

    async def open(self) -> None:
        self.database = sw.connect(self._url)
        shop = self.database.table(self._table)
        self.shop, self._tallies, self._pages = shop, shop.of(Tally), shop.of(Page)
        self._page = self._pages.create(Page(id="home"))

    async def add_one(self) -> Word:
        return _word_of(lambda: self._tallies.upsert(VISITS, Tally.n.add(1)))

    async def create(self, number: int) -> Word:
        return _word_of(lambda: self._tallies.create(Tally(id=str(number), n=number)))

    async def save(self) -> Word:
        page = self._page
        try:
            self._page = self._pages.put(page.replace(reads=page.reads + 1))
        except sw.VersionConflict:
            self._page = self._pages.get(Page.key_of("home"))
            return "refused"
        except sw.OutcomeUnknown:
            self._page = self._pages.get(Page.key_of("home"))
            return "unknown"
        return "applied"

    async def close(self) -> None:
        self.database.close()


class SurewriteTransactions(Surewrite):
    name = "surewrite, as transactions"

    async def add_one(self) -> Word:
        def add() -> None:
            with self.shop.transaction() as tx:
                tx.upsert(VISITS, Tally.n.add(1))

        return _word_of(add)


class SurewriteOperationIds(Surewrite):
    name = "surewrite, with operation ids"
    _count = 0

    async def add_one(self) -> Word:
        self._count += 1
        operation = f"operation-{self._count}"
        return _word_of(
            lambda: self._tallies.upsert(VISITS, Tally.n.add(1), Tally.seen.add(operation), condition=~Tally.seen.contains(operation)),
        )


class SurewriteAsync:
    name = "surewrite, async"

    def __init__(self, url: str, table: str) -> None:
        self._url, self._table = url, table

    async def open(self) -> None:
        self._database = sw.connect_async(self._url)
        shop = self._database.table(self._table)
        self._tallies, self._pages = shop.of(Tally), shop.of(Page)
        self._page = await self._pages.create(Page(id="home"))

    async def add_one(self) -> Word:
        try:
            await self._tallies.upsert(VISITS, Tally.n.add(1))
        except sw.OutcomeUnknown:
            return "unknown"
        return "applied"

    async def create(self, number: int) -> Word:
        try:
            await self._tallies.create(Tally(id=str(number), n=number))
        except sw.AlreadyExists:
            return "refused"
        except sw.OutcomeUnknown:
            return "unknown"
        return "applied"

    async def save(self) -> Word:
        page = self._page
        try:
            self._page = await self._pages.put(page.replace(reads=page.reads + 1))
        except sw.VersionConflict:
            self._page = await self._pages.get(Page.key_of("home"))
            return "refused"
        except sw.OutcomeUnknown:
            self._page = await self._pages.get(Page.key_of("home"))
            return "unknown"
        return "applied"

    async def close(self) -> None:
        await self._database.close()


class Boto3:
    name = "boto3"

    def __init__(self, url: str, table: str) -> None:
        self._url, self._table = url, table

    async def open(self) -> None:
        import boto3
        from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

        self._client: Any = boto3.client("dynamodb", endpoint_url=self._url, region_name=REGION, aws_access_key_id=KEY_ID, aws_secret_access_key=SECRET)
        self._stored = TypeSerializer().serialize
        self._read = TypeDeserializer().deserialize
        self._page: dict[str, Any] = {**PAGE_KEY, **page_fields(), "version": 1}
        self._client.put_item(TableName=self._table, Item=self._item(self._page))

    def _item(self, values: dict[str, Any]) -> dict[str, Any]:
        return {name: self._stored(value) for name, value in values.items()}

    async def add_one(self) -> Word:
        with _refusals("ConditionalCheckFailedException") as ended:
            self._client.update_item(
                TableName=self._table, Key=self._item(TALLY_KEY), UpdateExpression="ADD n :one", ExpressionAttributeValues={":one": {"N": "1"}}
            )
        return ended.word

    async def create(self, number: int) -> Word:
        with _refusals("ConditionalCheckFailedException") as ended:
            item = self._item({"pk": f"TALLY#{number}", "sk": "TALLY", "n": number})
            self._client.put_item(TableName=self._table, Item=item, ConditionExpression="attribute_not_exists(pk)")
        return ended.word

    async def save(self) -> Word:
        page = {**self._page, "reads": self._page["reads"] + 1, "version": self._page["version"] + 1}
        with _refusals("ConditionalCheckFailedException") as ended:
            self._client.put_item(
                TableName=self._table,
                Item=self._item(page),
                ConditionExpression="version = :read",
                ExpressionAttributeValues={":read": self._stored(self._page["version"])},
            )
            self._page = page
        if ended.word != "applied":
            found = self._client.get_item(TableName=self._table, Key=self._item(PAGE_KEY), ConsistentRead=True)["Item"]
            self._page = {name: self._read(value) for name, value in found.items()}
        return ended.word

    async def close(self) -> None:
        self._client.close()


class PynamoDB:
    name = "PynamoDB"

    def __init__(self, url: str, table: str) -> None:
        self._url, self._table = url, table

    async def open(self) -> None:
        from pynamodb.attributes import NumberAttribute, UnicodeAttribute, VersionAttribute
        from pynamodb.models import Model

        meta = {"table_name": self._table, "host": self._url, "region": REGION, "aws_access_key_id": KEY_ID, "aws_secret_access_key": SECRET}
        common = {"Meta": type("Meta", (), meta)}

        class TallyModel(Model):
            Meta = common["Meta"]
            pk = UnicodeAttribute(hash_key=True)
            sk = UnicodeAttribute(range_key=True)
            n = NumberAttribute(default=0)

        class PageModel(Model):
            Meta = common["Meta"]
            pk = UnicodeAttribute(hash_key=True)
            sk = UnicodeAttribute(range_key=True)
            title = UnicodeAttribute()
            owner = UnicodeAttribute()
            balance = NumberAttribute()
            reads = NumberAttribute(default=0)
            version = VersionAttribute()

        self._tallies, self._pages = TallyModel, PageModel
        self._page: Any = PageModel(**PAGE_KEY, **{**page_fields(), "balance": 12.5})
        self._page.save()

    async def add_one(self) -> Word:
        with _refusals("PutError", "UpdateError") as ended:
            self._tallies(**TALLY_KEY).update(actions=[self._tallies.n.add(1)])
        return ended.word

    async def create(self, number: int) -> Word:
        with _refusals("PutError") as ended:
            self._tallies(f"TALLY#{number}", "TALLY", n=number).save(condition=self._tallies.pk.does_not_exist())
        return ended.word

    async def save(self) -> Word:
        self._page.reads += 1
        with _refusals("PutError") as ended:
            self._page.save()
        if ended.word != "applied":
            self._page = self._pages.get(PAGE_KEY["pk"], PAGE_KEY["sk"], consistent_read=True)
        return ended.word

    async def close(self) -> None:
        return


class Aiodynamo:
    name = "aiodynamo"

    def __init__(self, url: str, table: str) -> None:
        self._url, self._table = url, table

    async def open(self) -> None:
        import aiohttp
        from aiodynamo.client import Client
        from aiodynamo.credentials import Key, StaticCredentials
        from aiodynamo.expressions import F
        from aiodynamo.http.aiohttp import AIOHTTP
        from yarl import URL

        self._http = aiohttp.ClientSession()
        self._client = Client(AIOHTTP(self._http), StaticCredentials(Key(KEY_ID, SECRET)), REGION, URL(self._url))
        self._field: Any = F
        self._page: dict[str, Any] = {**PAGE_KEY, **page_fields(), "balance": 12.5, "version": 1}
        await self._client.put_item(self._table, self._page)

    async def add_one(self) -> Word:
        with _refusals("ConditionalCheckFailed") as ended:
            await self._client.update_item(self._table, dict(TALLY_KEY), self._field("n").add(1))
        return ended.word

    async def create(self, number: int) -> Word:
        with _refusals("ConditionalCheckFailed") as ended:
            item = {"pk": f"TALLY#{number}", "sk": "TALLY", "n": number}
            await self._client.put_item(self._table, item, condition=self._field("pk").does_not_exist())
        return ended.word

    async def save(self) -> Word:
        page = {**self._page, "reads": self._page["reads"] + 1, "version": self._page["version"] + 1}
        with _refusals("ConditionalCheckFailed") as ended:
            await self._client.put_item(self._table, page, condition=self._field("version").equals(self._page["version"]))
            self._page = page
        if ended.word != "applied":
            self._page = await self._client.get_item(self._table, dict(PAGE_KEY), consistent_read=True)
        return ended.word

    async def close(self) -> None:
        await self._http.close()


class Pydynox:
    name = "pydynox"

    def __init__(self, url: str, table: str) -> None:
        self._url, self._table = url, table

    async def open(self) -> None:
        from pydynox import DynamoDBClient, Model, ModelConfig
        from pydynox.attributes import NumberAttribute, StringAttribute, VersionAttribute

        client = DynamoDBClient(region=REGION, access_key=KEY_ID, secret_key=SECRET, endpoint_url=self._url)
        config = ModelConfig(table=self._table, client=client)

        class TallyModel(Model):
            model_config = config
            pk = StringAttribute(partition_key=True)
            sk = StringAttribute(sort_key=True)
            n = NumberAttribute(default=0)

        class PageModel(Model):
            model_config = config
            pk = StringAttribute(partition_key=True)
            sk = StringAttribute(sort_key=True)
            title = StringAttribute()
            owner = StringAttribute()
            balance = NumberAttribute()
            reads = NumberAttribute(default=0)
            version = VersionAttribute()

        self._tallies, self._pages = TallyModel, PageModel
        self._page: Any = PageModel(**PAGE_KEY, **{**page_fields(), "balance": 12.5})
        self._page.sync_save()

    async def add_one(self) -> Word:
        with _refusals("ConditionalCheckFailedException") as ended:
            self._tallies(**TALLY_KEY).sync_update(atomic=[self._tallies.n.add(1)])
        return ended.word

    async def create(self, number: int) -> Word:
        with _refusals("ConditionalCheckFailedException") as ended:
            self._tallies(pk=f"TALLY#{number}", sk="TALLY", n=number).sync_save(condition=self._tallies.pk.not_exists())
        return ended.word

    async def save(self) -> Word:
        self._page.reads += 1
        with _refusals("ConditionalCheckFailedException") as ended:
            self._page.sync_save()
        if ended.word != "applied":
            self._page = self._pages.sync_get(**PAGE_KEY, consistent_read=True)
        return ended.word

    async def close(self) -> None:
        return


class Dynamoxy:
    name = "dynamoxy"

    def __init__(self, url: str, table: str) -> None:
        self._url, self._table = url, table

    async def open(self) -> None:
        class TallyModel(dynamoxy.Model, table=self._table):
            pk: dynamoxy.Attr[str] = dynamoxy.partition_key()
            sk: dynamoxy.Attr[str] = dynamoxy.sort_key()
            n: dynamoxy.Attr[int] = dynamoxy.field(default=0)

        class PageModel(dynamoxy.Model, table=self._table):
            pk: dynamoxy.Attr[str] = dynamoxy.partition_key()
            sk: dynamoxy.Attr[str] = dynamoxy.sort_key()
            title: dynamoxy.Attr[str]
            owner: dynamoxy.Attr[str]
            balance: dynamoxy.Attr[Decimal]
            reads: dynamoxy.Attr[int] = dynamoxy.field(default=0)
            version: dynamoxy.Attr[int] = dynamoxy.version()

        self._client = dynamoxy.Client(region=REGION, endpoint_url=self._url, credentials=dynamoxy.Credentials(KEY_ID, SECRET))
        self._model: Any = TallyModel
        self._tallies: Any = self._client.repository(TallyModel)
        self._pages: Any = self._client.repository(PageModel)
        self._page: Any = await self._pages.create(PageModel(**PAGE_KEY, **page_fields()))

    async def add_one(self) -> Word:
        with _refusals("ItemNotFoundError") as ended:
            await self._tallies.update(dict(TALLY_KEY), self._model.n.add(1), upsert=True)
        return ended.word

    async def create(self, number: int) -> Word:
        with _refusals("ItemAlreadyExistsError") as ended:
            await self._tallies.create(self._model(pk=f"TALLY#{number}", sk="TALLY", n=number))
        return ended.word

    async def save(self) -> Word:
        self._page.reads += 1
        with _refusals("VersionConflictError") as ended:
            await self._pages.save(self._page)
        if ended.word != "applied":
            self._page = await self._pages.get(*PAGE_KEY.values(), consistent=True)
        return ended.word

    async def close(self) -> None:
        return


OURS: tuple[type[Any], ...] = (Surewrite, SurewriteTransactions, SurewriteOperationIds, SurewriteAsync)
PEERS: dict[str, type[Any]] = {"boto3": Boto3, "pynamodb": PynamoDB, "aiodynamo": Aiodynamo, "pydynox": Pydynox, "dynamoxy": Dynamoxy}


def installed_peers() -> list[type[Any]]:
    """The peers that can be imported here."""
    return [peer for module, peer in PEERS.items() if importlib.util.find_spec(module) is not None]


def page_fields() -> dict[str, Any]:
    return {"title": "a page with a title of some length", "owner": "alice@example.com", "balance": Decimal("12.50"), "reads": 0}


class _Ended:
    def __init__(self) -> None:
        self.word: Word = "applied"


@contextlib.contextmanager
def _refusals(*names: str) -> Iterator[_Ended]:
    """Runs a write of a peer; ``names`` are those of its errors that say that the condition did not hold."""
    ended = _Ended()
    try:
        yield ended
    except Exception as error:  # noqa: BLE001 - whatever else a peer raises is one word here
        kinds = {kind.__name__ for kind in type(error).__mro__}
        if "WriteOutcomeUnknownError" in kinds:
            ended.word = "unknown"
        else:
            ended.word = "refused" if kinds & set(names) and _is_refusal(error) else "failed"


def _is_refusal(error: Exception) -> bool:
    """PynamoDB names its errors after the call, and has the code of the service beside it."""
    code = getattr(error, "cause_response_code", None)
    return code is None or code == "ConditionalCheckFailedException"


def _word_of(write: Callable[[], object]) -> Word:
    try:
        write()
    except sw.OutcomeUnknown:
        return "unknown"
    except sw.WriteRefused:
        return "refused"
    return "applied"
