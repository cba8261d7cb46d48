"""All that an entry of a config's ``methods:`` may be."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import Field

from pppca_bench.classifier_sections import MethodSection
from pppca_bench.engine_sections import AllFeatures, Dgha, DghaSpeedup, Gha, NePpca

Method = Annotated[Gha | Dgha | DghaSpeedup | NePpca | AllFeatures, Field(discriminator="method")]
METHODS: dict[str, type[MethodSection]] = {
    get_args(model.model_fields["method"].annotation)[0]: model for model in get_args(get_args(Method)[0])
}
"""Sections by the method's name."""
