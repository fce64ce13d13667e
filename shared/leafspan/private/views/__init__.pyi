"""An index as it looks through pseudonyms: what goes in is masked, what comes out is masked or restored."""

from ._private_view import PrivateView, private_view

__all__ = ["PrivateView", "private_view"]
