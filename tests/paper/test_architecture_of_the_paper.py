"""The modules of the paper keep the rules of the instrument's."""

import pytest
from architecture import (
    executes_no_stored_data,
    for_each,
    imports_in_one_direction,
    imports_what_it_may,
    modules,
    names_no_method,
    neither_prints_nor_exits,
    part_of,
    reads_no_number_from_a_label,
    third_party,
)

PAPER = [path for path in modules() if part_of(path) == "paper"]
RULES = (
    imports_what_it_may,
    neither_prints_nor_exits,
    executes_no_stored_data,
    names_no_method,
    reads_no_number_from_a_label,
    third_party,
)

PAPER = [path for path in modules() if part_of(path) == "paper"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@for_each(PAPER)
def test_each_module_keeps_the_rules(path, rule):
    rule(path)


@for_each(PAPER)
def test_no_module_draws_or_takes_times(path):
    assert third_party(path).isdisjoint({"matplotlib", "time"})


def test_the_modules_import_each_other_in_one_direction():
    imports_in_one_direction("paper")
