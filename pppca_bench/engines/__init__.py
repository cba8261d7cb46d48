"""GHA, DGHA and NE-pPCA, the algorithms of the slides, as scikit-learn transformers."""

from pppca_bench.engines.dgha import DGHA
from pppca_bench.engines.gha import GHA
from pppca_bench.engines.ne_ppca import NEpPCA

__all__ = ["DGHA", "GHA", "NEpPCA"]
