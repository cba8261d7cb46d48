"""What the server of worker processes imports, so that a worker that is forked from it begins at once.

Kernels that are kept are loaded too: the first costs a quarter of a second, which each worker would pay.
"""

import gc
from contextlib import suppress

from pppca_bench.compiled import cache
from pppca_bench.importing import quick_imports

with quick_imports():
    from pppca_bench.experiments import choosing, worker  # noqa: F401 - with all that a run calls

    for _family in cache.FAMILIES:
        with suppress(Exception):  # the runs that call the kernel meet its failure, and record it
            if cache.is_compiled(_family):
                cache.compile_family(_family)

gc.freeze()  # what stays is not searched for garbage, so that forked processes keep sharing its memory
