"""Belongs here: one request and its reply over HTTP/1.1 as a state fed with bytes, and the honest word for how it ended.

Must not be here: sockets, waiting, time. Both wires feed the same state, so what is *not sent* and what is damaged is
decided once, here and in ``core.wire``. The form of a reply is that of RFC 9112.
"""

from __future__ import annotations

import re

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from surewrite.core.answers import Answer, NoAnswer, NotSent, Rejection, Success
from surewrite.core.requests import Request
from surewrite.core.wire import ANSWER_BYTES_MAX, read_answer

_INTERIM_MAX = 8
"""How many interim replies (1xx) may come before the final one. We ask for none; a proxy may still send a few."""

HEAD_BYTES_MAX = 131_072
"""The longest head that is read, with those of interim replies. The service's are below one kilobyte, and a proxy's below 64."""

_FINAL_STATUS_MIN = 200
_CHECKSUM, _ENCODING, _DATE = b"x-amz-crc32", b"content-encoding", b"date"
_LENGTH, _CODING, _KEPT = b"content-length", b"transfer-encoding", b"keep-alive"
_READ_HEADERS = frozenset((_CHECKSUM, _ENCODING, _DATE, _LENGTH, _CODING, _KEPT))
_KEPT_SECONDS = re.compile(rb"(?:^|[,\s])timeout\s*=\s*\"?(\d{1,9})", re.IGNORECASE)


class Exchange:
    """One attempt to ask ``asked``, whose bytes are ``request``.

    The wire sends ``unsent``, tells ``handed_over``, feeds ``received`` until ``finished``, and asks for the ``answer``.
    ``unsent`` is what the socket has not taken yet. ``reusable`` is true only once the whole answer was read, was the
    service's own, and the connection stays open: only then may another request use the connection.
    """

    __slots__ = ("_asked", "_body", "_damage", "_framed", "_head", "_headers", "_interim", "_parser", "_size", "_status", "finished", "reusable", "unsent")

    def __init__(self, request: bytes, asked: Request) -> None:
        self.unsent: bytes | memoryview = request
        self._asked = asked
        self.finished = False
        self.reusable = False
        self._damage: str | None = None
        self._status = 0
        self._headers: dict[bytes, bytes] = {}
        self._body: list[bytes] = []
        self._size = 0
        self._head = 0
        self._interim = 0
        self._framed = False
        self._parser: HttpResponseParser | None = HttpResponseParser(self)

    def handed_over(self, count: int) -> None:
        """The socket took ``count`` more bytes. From the last one on, the request may take effect."""
        self.unsent = b"" if count == len(self.unsent) else memoryview(self.unsent)[count:]

    def received(self, data: bytes) -> None:
        """More bytes of the reply; none means that the other side closed its end."""
        parser = self._parser
        if parser is None:
            self._spoil("more than one reply")
        elif data:
            try:
                parser.feed_data(data)
            except (HttpParserError, HttpParserUpgrade):
                self._spoil("reply is not HTTP, or more than one")
            if not self._status:
                self._head += len(data)
                if self._head > HEAD_BYTES_MAX:
                    self._spoil(f"head of the reply is longer than {HEAD_BYTES_MAX} bytes")
        elif self._status and not self._framed:
            # A body without a length ends where the connection does: RFC 9112, 6.3, rule 8. A cut one is no JSON.
            self._finish(keep=False)
        else:
            self._spoil("connection closed within the reply" if self._status or self._size else "connection closed without a reply")
        if self.finished:
            # The parser holds methods of this object: without it the two are freed at once.
            self._parser = None

    def answer(self) -> Answer:
        """What the reply says. Call it once, when ``finished``."""
        if self._damage is not None:
            return NoAnswer(self._damage)
        text = {name: value.decode("latin-1") for name, value in self._headers.items()}
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        answer = read_answer(self._asked, self._status, body, checksum=text.get(_CHECKSUM), encoding=text.get(_ENCODING), date=text.get(_DATE))
        if not isinstance(answer, (Success, Rejection)):
            self.reusable = False
        return answer

    @property
    def kept_seconds(self) -> int | None:
        """How long the other side keeps the idle connection open, where it says so: RFC 2068, 19.7.1.1."""
        said = self._headers.get(_KEPT)
        found = None if said is None else _KEPT_SECONDS.search(said)
        return None if found is None else int(found[1])

    def failed(self, detail: str) -> NoAnswer | NotSent:
        """The word for an attempt that ended before its reply did: not sent, if the last byte was never handed over."""
        self._parser = None
        self.reusable = False
        return NotSent(detail) if self.unsent else NoAnswer(detail)

    # Called by the parser while it is fed.

    def on_message_begin(self) -> None:
        if self.finished:
            self._spoil("more than one reply")

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        # What follows the body describes nothing that comes before it: RFC 9110, 6.5.1. The parser keeps blanks behind a value.
        if name in _READ_HEADERS and not self._status:
            self._headers[name] = value.strip(b" \t")

    def on_headers_complete(self) -> None:
        parser = self._parser
        assert parser is not None
        self._status = parser.get_status_code()
        self._framed = _LENGTH in self._headers or _CODING in self._headers

    def on_body(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > ANSWER_BYTES_MAX:
            self._spoil(f"reply is longer than {ANSWER_BYTES_MAX} bytes")
        else:
            self._body.append(data)

    def on_message_complete(self) -> None:
        parser = self._parser
        assert parser is not None
        if self._status >= _FINAL_STATUS_MIN:
            # The parser forgets the Connection header as soon as this method returns.
            self._finish(keep=parser.should_keep_alive())
            return
        self._interim += 1
        self._status = 0
        self._headers.clear()
        if self._interim > _INTERIM_MAX:
            self._spoil("interim replies without end")

    def _finish(self, *, keep: bool) -> None:
        if self._damage is None:
            self.finished = True
            self.reusable = keep

    def _spoil(self, damage: str) -> None:
        self._damage = self._damage or damage
        self.finished = True
        self.reusable = False
