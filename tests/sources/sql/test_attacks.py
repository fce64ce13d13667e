"""No attack passes: the guard refuses it, and the database would not have let it write either."""

from __future__ import annotations

import pytest

from leafspan.errors import RefusedQuery
from leafspan.sources.sql._allowed import Allowed
from leafspan.sources.sql._guard import Guard
from tests.profiles import all_hold, in_groups
from tests.sources.sql.attacks import ALLOWED, ATTACKS, HIDDEN


def test_there_are_enough_attacks_with_names_of_their_own():
    names = [attack.name for attack in (*ATTACKS, *HIDDEN)]
    assert len(names) == len(set(names))
    assert len(names) >= 300


@pytest.mark.parametrize("attacks", in_groups(ATTACKS, 30), ids=lambda attacks: attacks[0].name)
def test_attacks_are_refused(attacks):
    def refused(attack):
        with pytest.raises(RefusedQuery):
            Guard(dialect=attack.dialect).check(attack.sql)

    all_hold(refused, attacks)


@pytest.mark.parametrize("attacks", in_groups([*ATTACKS, *HIDDEN], 30), ids=lambda attacks: attacks[0].name)
def test_attacks_are_refused_where_tables_are_listed(attacks):
    def refused(attack):
        with pytest.raises(RefusedQuery):
            Guard(dialect=attack.dialect, allowed=Allowed.of(ALLOWED, attack.dialect)).check(attack.sql)

    all_hold(refused, attacks)
