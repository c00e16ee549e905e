"""Belongs here: the DynamoDB value model: types, exact numbers, sizes, ordering. Must not be here: Python entity classes, JSON."""

from __future__ import annotations

from typing import Any

AttributeValue = dict[str, Any]
"""One typed value in the service's own shape: exactly one of S, N (text), B (base64 text), BOOL, NULL, SS, NS, BS, L, M."""

Item = dict[str, AttributeValue]
"""Attribute name to typed value."""
