"""The scenarios that this library is tried by: what clients do, and what must hold whatever befalls them."""
