"""All that an entry of a config's ``methods:`` may be."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import Field

from pppca_bench.methods.classifier_sections import MethodSection
from pppca_bench.methods.engine_sections import AllFeatures, Dgha, DghaSpeedup, Gha, NePpca
from pppca_bench.methods.reducer_sections import (
    Autoencoder,
    Backward,
    Chi2,
    Flgp,
    Forward,
    Ica,
    KernelPca,
    Lda,
    MutualInfo,
    Pca,
    PcaSvd,
    Rfe,
)
from pppca_bench.methods.system_sections import GaMlp, PrunedMlp, RfeSvm

_Engine = Gha | Dgha | DghaSpeedup | NePpca | AllFeatures
_Reduction = Pca | PcaSvd | KernelPca | Ica | Lda | Autoencoder | Flgp
_Selection = MutualInfo | Chi2 | Forward | Backward | Rfe
_System = GaMlp | PrunedMlp | RfeSvm
Method = Annotated[_Engine | _Reduction | _Selection | _System, Field(discriminator="method")]
METHODS: dict[str, type[MethodSection]] = {
    get_args(model.model_fields["method"].annotation)[0]: model for model in get_args(get_args(Method)[0])
}
"""Sections by the method's name."""
