"""Wrong use: each line that is marked by a number must be refused by mypy --strict and pyright strict; no other line may be."""

from __future__ import annotations
import surewrite as sw
from surewrite import Attribute, VersionedEntity
from entities import Account, DailyTally, LiveMatch, MailClaim, Order, Registrant, Results
db = sw.connect("memory:")
shop = db.table("shop")
accounts = shop.of(Account)
alice = accounts.get(Account.key_of("alice"))
tx = shop.transaction()
adb = sw.connect_async("memory:")
key = Account.key_of("alice")
marker = tx.create(alice)
# Every line below is wrong use: both checkers must refuse it, and no other line.
accounts.update(key, Account.balance.add(10))                                          # W01 versioned, by key, no word on the version
accounts.try_update(key, Account.balance.add(10))                                      # W02
accounts.upsert(key, Account.balance.add(10))                                          # W03
accounts.delete(key)                                                                   # W04
tx.update(key, Account.balance.add(10))                                                # W05
tx.delete(key)                                                                         # W06
shop.of(DailyTally).update(DailyTally.key_of("x", 1).if_version(1), DailyTally.count.add(1))  # W07 no version to check
accounts.update(MailClaim.key_of("x"), Account.balance.add(1))                         # W08 foreign key
accounts.update(key.if_version(1), DailyTally.count.add(1))                            # W09 foreign change
accounts.update(key.if_version(1), Account.balance.add(1), condition=Order.stock > 1)  # W10 foreign condition
tx.update(key.if_version(1), DailyTally.count.add(1))                                  # W11
accounts.put(MailClaim(address="a", owner="b"))                                        # W12
Account(id=3)                                                                          # W13
Account()                                                                              # W14
Account("alice")                                                                       # W15
Account(id="a", owner="b")                                                             # W16
Account(id="a", revision=3)                                                            # W17
alice.balance = alice.balance                                                          # W18
Account.balance.append(3)                                                              # W19
Account.balance.add("x")                                                               # W20
DailyTally.seen.add(3)                                                                 # W21
x1: sw.Condition[LiveMatch] = LiveMatch.score_at < None                                # W22
x2: sw.Condition[LiveMatch] = LiveMatch.status == None                                 # W23
x3: sw.Condition[Account] = Account.balance == "10"                                    # W24
x4 = LiveMatch.score_at < "2026"                                                       # W25
accounts.modify(key, lambda a: None)                                                   # W26
accounts.update(key.if_version(1), Account.balance > 3)                                # W27 a condition given as a change
accounts.put(alice, condition=Account.balance.exists)                                  # W28 call forgotten
accounts.put(alice, condition=not Account.balance > 1)                                 # W29
accounts.put(alice, condition=Account.balance == 1 & Account.balance == 2)             # W30
x5 = Account.balance + "x"                                                             # W31
Registrant.email.set(None)                                                             # W32
Results.results.append("x")                                                            # W33
sw.Committed().item_for(marker).owner                                                  # W34
for attempt in adb.retry_on_conflict(): pass                                           # W35
class Bad(VersionedEntity, partition_key="B#{id}", sort_kye="x"): id: Attribute[str]   # W36
class Bad2(VersionedEntity, partition_key="B#{id}"): n: Attribute[int] = 0             # W37
class Bad3(VersionedEntity, partition_key="B#{id}"): n: Attribute[str] = sw.unique(default=None) # W38
