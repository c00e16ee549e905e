"""How outcomes and refusals answer when they are asked as true or false."""

from __future__ import annotations

import pickle

import pytest

import surewrite as sw
from surewrite import Attribute, Entity, Refusal, RefusalReason, Refused
from surewrite.backends.embedded import EmbeddedBackend, open_embedded
from surewrite.core.outcomes import refused_for
from surewrite.testing.fault_backend import FaultBackend
from surewrite.testing.faults import Deliver, FaultPlan, LoseRequest, Step, Where


class Claim(Entity, discriminator="CLAIM", partition_key="CLAIM#{value}", sort_key="CLAIM"):
    value: Attribute[str]
    owner: Attribute[str]


@pytest.fixture
def shop() -> sw.Table:
    shop = sw.connect("memory:").table("shop")
    shop.create_table(Claim)
    shop.of(Claim).create(Claim(value="taken", owner="alice"))
    return shop


def test_a_refused_write_is_false_as_an_outcome(shop: sw.Table) -> None:
    outcome = shop.of(Claim).try_create(Claim(value="taken", owner="bob"))
    assert not outcome
    assert isinstance(outcome, Refused)


def test_the_refusal_of_an_action_is_true_so_that_it_can_be_asked_for(shop: sw.Table) -> None:
    tx = shop.transaction()
    free = tx.create(Claim(value="free", owner="bob"))
    taken = tx.create(Claim(value="taken", owner="bob"))
    result = tx.try_commit()
    assert not result
    assert not result.refusal_of(free)
    assert result.refusal_of(taken)
    refusal = result.refusal_of(taken)
    assert refusal is not None
    assert refusal.existing.owner == "alice"


def test_the_error_of_a_cancelled_transaction_tells_the_same_refusals(shop: sw.Table) -> None:
    tx = shop.transaction()
    taken = tx.create(Claim(value="taken", owner="bob"))
    with pytest.raises(sw.TransactionCanceled) as raised:
        tx.commit()
    assert raised.value.refusal_of(taken)
    assert [refusal.reason for refusal in raised.value.refusals()] == [RefusalReason.ALREADY_EXISTS]


def test_what_became_of_a_transaction_reaches_another_process(shop: sw.Table) -> None:
    """A pool of processes pickles what a task returns; what cannot be pickled is told as an error, of a transaction that was made."""
    for owner, applied in (("ann", True), ("bob", False)):
        tx = shop.transaction()
        marker = tx.create(Claim(value="free", owner=owner))
        result = tx.try_commit()
        told = pickle.loads(pickle.dumps(result))
        assert (type(told), told.applied, told.attempts) == (type(result), applied, 1)
    with pytest.raises(sw.InvalidRequest, match="no action of this transaction"):
        pickle.loads(pickle.dumps(sw.Committed({}, attempts=2))).item_for(marker)


def test_an_outcome_keeps_every_fact_of_its_refusal() -> None:
    refusal: Refusal[object] = Refusal(RefusalReason.CONDITION_FAILED, "Claim", "item", "key", 3, own_earlier_write=True, stored_type="X")
    refused = refused_for(refusal)
    names = Refusal.__dataclass_fields__
    assert [getattr(refused, name) for name in names] == [getattr(refusal, name) for name in names]


@pytest.mark.real_time
def test_a_cancellation_that_only_a_fence_proved_says_so() -> None:
    transactions = ("TransactWriteItems",)
    plan = FaultPlan(
        (
            Step(Deliver(), Where(operations=transactions, mentions="surewrite-fence"), times=None),
            Step(LoseRequest(), Where(operations=transactions), times=None),
        )
    )
    backend = FaultBackend(EmbeddedBackend(open_embedded("memory:")), plan)
    shop = sw.connect(backend, chance=sw.Chance(number=lambda: 0.0)).table("shop")
    shop.create_table(Claim)
    tx = shop.transaction()
    tx.create(Claim(value="free", owner="bob"))
    with pytest.raises(sw.TransactionCanceled, match="a fence proved it"):
        tx.commit()
