"""No attack passes: the guard refuses it, and the database would not have let it write either."""

from __future__ import annotations

import pytest

from leafspan.errors import RefusedQuery
from leafspan.sources.sql._allowed import Allowed
from leafspan.sources.sql._guard import Guard
from tests.sources.sql.attacks import ALLOWED, ATTACKS, HIDDEN


def name_of(attack):
    return attack.name


def test_there_are_enough_attacks_with_names_of_their_own():
    names = [attack.name for attack in (*ATTACKS, *HIDDEN)]
    assert len(names) == len(set(names))
    assert len(names) >= 300


@pytest.mark.parametrize("attack", ATTACKS, ids=name_of)
def test_an_attack_is_refused(attack):
    with pytest.raises(RefusedQuery):
        Guard(dialect=attack.dialect).check(attack.sql)


@pytest.mark.parametrize("attack", [*ATTACKS, *HIDDEN], ids=name_of)
def test_an_attack_is_refused_where_tables_are_listed(attack):
    with pytest.raises(RefusedQuery):
        Guard(dialect=attack.dialect, allowed=Allowed.of(ALLOWED, attack.dialect)).check(attack.sql)
