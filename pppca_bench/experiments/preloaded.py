"""Imports and compiled kernels of the server that local workers are forked from, so that they begin at once."""

import gc
from contextlib import suppress

gc.set_threshold(100_000)  # imports allocate much and free little

from pppca_bench.compiled import cache  # noqa: E402
from pppca_bench.experiments import choosing, worker  # noqa: E402, F401 everything that a run calls

for _family in cache.FAMILIES:
    with suppress(Exception):  # the runs that call the kernel record its failure
        if cache.is_compiled(_family):
            cache.compile_family(_family)

gc.set_threshold(700)
gc.freeze()  # objects that no collection visits stay in memory that all workers share
