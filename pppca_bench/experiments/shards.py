"""The part of a plan that one of several machines computes, without a word between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pppca_bench.experiments.queue import groups
from pppca_bench.runs import RunSpec


@dataclass(frozen=True, slots=True)
class Shard:
    """Say which part of a plan is meant.

    Attributes
    ----------
    number : int
        From 1 to ``of``.
    of : int
        Parts of the plan.
    """

    number: int
    of: int

    def take(self, specs: Sequence[RunSpec]) -> list[RunSpec]:
        """Return the runs of this shard, in the order of the plan; those of all shards together are the plan.

        Choice: the runs of each cell are dealt in groups, in the order of their first keys. A key is a digest, so
        the shards have equally many groups, on any machine the same ones, and of each method and problem a fair share,
        however regular the plan is.

        Parameters
        ----------
        specs : sequence of RunSpec
            The whole plan, whatever of it is done.
        """
        dealt = sorted(groups(specs), key=lambda group: group[0].key)[self.number - 1 :: self.of]
        taken = {spec.key for group in dealt for spec in group}
        return [spec for spec in specs if spec.key in taken]
