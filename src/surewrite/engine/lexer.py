"""Belongs here: text of an expression to tokens, and reading them with the service's syntax errors. Must not be here: any grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from surewrite.core import limits
from surewrite.engine.faults import ServiceError, validation
from surewrite.engine.syntax import ExpressionKind

# A character that begins no token is a token by itself, so that the parser refuses it in its place.
_TOKEN: Final = re.compile(
    r"[ \t\r\n]*(?:(?P<word>[A-Za-z][A-Za-z0-9_]*)|(?P<name>#[A-Za-z0-9_]+)|(?P<value>:[A-Za-z0-9_]+)|(?P<digits>[0-9]+)|(?P<sign><>|<=|>=|.)|(?P<end>\Z))",
    re.ASCII | re.DOTALL,
)

END: Final = "<EOF>"


@dataclass(frozen=True, slots=True)
class Token:
    """One lexeme: ``kind`` is the group of the pattern that matched, ``start`` and ``stop`` its place in the text."""

    kind: str
    text: str
    start: int
    stop: int


class TokenReader:
    """The tokens of one expression with a place in them. Raises ValidationException for an empty or too long expression."""

    __slots__ = ("_place", "_text", "_tokens", "kind")

    def __init__(self, text: str, kind: ExpressionKind) -> None:
        self.kind: ExpressionKind = kind
        self._text = text
        self._place = 0
        size = len(text) if text.isascii() else len(text.encode(errors="replace"))
        if size > limits.EXPRESSION_BYTES:
            told = "" if kind == "UpdateExpression" else f" expression size: {size}"
            raise self.invalid(f"Expression size has exceeded the maximum allowed size;{told}")
        self._tokens = _tokens(text)
        if self.at_end():
            raise self.invalid("The expression can not be empty;")

    def peek(self) -> Token:
        return self._tokens[self._place]

    def following(self) -> Token:
        """The token after the next one; the end follows itself."""
        return self._tokens[min(self._place + 1, len(self._tokens) - 1)]

    def take(self) -> Token:
        token = self._tokens[self._place]
        if token.kind != "end":
            self._place += 1
        return token

    def at_end(self) -> bool:
        return self._tokens[self._place].kind == "end"

    def at_sign(self, sign: str) -> bool:
        token = self._tokens[self._place]
        return token.kind == "sign" and token.text == sign

    def at_keyword(self, keyword: str) -> bool:
        """Keywords are words written in any case."""
        token = self._tokens[self._place]
        return token.kind == "word" and token.text.upper() == keyword

    def accept_sign(self, sign: str) -> bool:
        if self.at_sign(sign):
            self._place += 1
            return True
        return False

    def accept_keyword(self, keyword: str) -> bool:
        if self.at_keyword(keyword):
            self._place += 1
            return True
        return False

    def expect_sign(self, sign: str) -> None:
        if not self.accept_sign(sign):
            raise self.syntax_error()

    def expect_keyword(self, keyword: str) -> None:
        if not self.accept_keyword(keyword):
            raise self.syntax_error()

    def syntax_error(self) -> ServiceError:
        """The error for the next token, which nothing allows here.

        ``near`` is the text from the token before to the token after; the end of the text shows as what came before it.
        """
        place = self._place
        token = self._tokens[place]
        first = self._tokens[place - 1] if place else token
        last = self._tokens[min(place + 1, len(self._tokens) - 1)]
        near = self._text[first.start : last.stop].rstrip()
        return self.invalid(f'Syntax error; token: "{token.text}", near: "{near}"')

    def invalid(self, message: str) -> ServiceError:
        """A ValidationException that names the kind of this expression."""
        return invalid(self.kind, message)


def invalid(kind: ExpressionKind, message: str) -> ServiceError:
    """A ValidationException about an expression of that kind."""
    return validation(f"Invalid {kind}: {message}")


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    for matched in _TOKEN.finditer(text):
        kind = matched.lastgroup or "end"
        if kind == "end":
            break
        tokens.append(Token(kind, matched[kind], matched.start(kind), matched.end(kind)))
    tokens.append(Token("end", END, len(text), len(text)))
    return tokens
