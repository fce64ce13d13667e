"""Asks strategies why they find a document, or what keeps it out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from leafspan.configuration import Config
from leafspan.errors import DocumentNotFound, LeafspanError
from leafspan.lab.explaining import aexplain
from leafspan.lab.serving._asked import Asked
from leafspan.view import View


class Reason(NamedTuple):
    """A strategy's reasons to find a document or not.

    Attributes:
        strategy: Name of the strategy.
        said: Why it finds the document, or what keeps it out, in lines.
        failed: Whether ``said`` is an error instead.
    """

    strategy: str
    said: str
    failed: bool = False


async def find_reasons(
    view: View, asked: Asked, known: Mapping[str, Config], document_id: str, timeout: float
) -> list[Reason]:
    """Find each strategy's reasons for a document. Each strategy retrieves up to some hundred times for it.

    Raises:
        DocumentNotFound: if the index has no document with that id.
    """
    return await asyncio.gather(
        *(_reason(view, asked, name, known[name], document_id, timeout) for name in asked.strategies)
    )


async def _reason(view: View, asked: Asked, name: str, config: Config, document_id: str, timeout: float) -> Reason:
    try:
        explanation = await aexplain(
            view,
            asked.question,
            config.defaults().strategy,
            document_id=document_id,
            where=asked.filter(),
            timeout=timeout,
            **asked.limits(config),
        )
        return Reason(name, await asyncio.to_thread(str, explanation))
    except DocumentNotFound:
        raise
    except LeafspanError as error:
        return Reason(name, str(error), failed=True)
