"""A search that learns from its trials: Optuna's tree-structured Parzen estimator, with pruning.

Source: Bergstra et al. 2011, "Algorithms for hyper-parameter optimization"; Akiba et al. 2019, "Optuna". Optuna's own
record of the trials lies beside the study's database. The numbers of a trial follow from the study's seed, the trial's
number and what came of the trials before it, so that a search that was stopped goes on as if it had not been.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pppca_bench.config.plan import Identities
from pppca_bench.errors import ConfigError
from pppca_bench.runs import Plan, RunSpec
from pppca_bench.store.database import Store
from pppca_bench.studies.config import Study
from pppca_bench.studies.scoring import ScoredTrial, needed_runs, score_trials
from pppca_bench.studies.spaces import Interval, Space
from pppca_bench.studies.trial_table import write_table

if TYPE_CHECKING:
    import optuna

JOURNAL = "optuna.journal"
"""Optuna's record of the trials, in the study's folder."""

SHARES = (0.25, 0.5, 1.0)
"""Shares of the repeats after which a trial that promises less than half of the others is given up."""

N_STARTUP = 15
"""Trials that are drawn at random and never given up, before there is anything to learn from."""

_N_REPEATS = "n_repeats"

Compute = Callable[..., object]
"""Runs specs, with the keyword ``progress``."""


def import_optuna(study: Study) -> Any:
    """Import Optuna, which only this sampler needs.

    Raises
    ------
    ConfigError
        It is not installed.
    """
    try:
        import optuna
    except ImportError:
        raise ConfigError(
            f"{study.where('sampler')}: tpe needs Optuna, which is not installed: `pip install 'pppca-bench[optuna]'`."
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def search_by_tpe(
    study: Study,
    store: Store,
    folder: Path,
    *,
    identities: Identities,
    compute: Compute,
    progress: Callable[[int, int], None] | None = None,
) -> list[ScoredTrial]:
    """Make the trials one after another, each where those before it make it promising.

    Parameters
    ----------
    study : Study
        A study whose cells were checked.
    store : Store
        The study's own.
    folder : Path
        Where Optuna's record and the table of trials are written.
    identities : mapping of str to Identity
        The data behind the problems' names.
    compute : callable(specs, progress=...)
        Runs what the store lacks.
    progress : callable(n_finished, n_total), optional
        Called with the number of runs that are settled, done or spared by pruning, and of all.

    Returns
    -------
    list of ScoredTrial
        The best first, those that were given up last.
    """
    record = _Record.open(study, folder, needed_runs(study, study.trials[0], identities))
    scored: list[ScoredTrial] = []
    for number in range(study.n_trials):
        asked = record.ask(number)
        trial = study.trial(number, {place: _suggest(asked, place, one) for place, one in study.settings.vary.items()})
        specs = needed_runs(study, trial, identities)
        store.plan(Plan(trial.config.name, trial.source.sha256, trial.source.text, tuple(specs)))
        n_repeats = 1 + max(spec.repeat for spec in specs)
        for n_made in stages(n_repeats):
            some = [spec for spec in specs if spec.repeat < n_made]
            compute(some, progress=_shifted(progress, number * len(specs), study.n_trials * len(specs)))
            (one,) = score_trials(study, [(trial, some)], store)
            if n_made == n_repeats or record.gives_up(asked, one):
                break
        scored.append(replace(one, is_pruned=n_made < n_repeats))
        record.tell(asked, scored[-1])
        scored.sort(key=lambda one: one.rank)
        write_table(study, scored, folder)
    return scored


def stages(n_repeats: int) -> list[int]:
    """Return after how many repeats a trial is judged, the last one being all."""
    return sorted({math.ceil(share * n_repeats) for share in SHARES})


@dataclass(frozen=True)
class _Record:
    """Optuna's record of one search, and what trials of it mean to us."""

    optuna: Any
    trials: optuna.Study
    seed: int

    @classmethod
    def open(cls, study: Study, folder: Path, of_base: Sequence[RunSpec]) -> _Record:
        """Open the record in a folder; a search from another base, or of other ranges or cells, has another one."""
        optuna, settings = import_optuna(study), study.settings
        told = [settings.seed, [spec.key for spec in of_base], repr(settings.vary), repr(settings.score)]
        digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]
        journal = optuna.storages.journal.JournalFileBackend(str(folder / JOURNAL))
        trials = optuna.create_study(
            storage=optuna.storages.JournalStorage(journal),
            study_name=f"{study.name}-{digest}",
            load_if_exists=True,
            pruner=optuna.pruners.MedianPruner(n_startup_trials=N_STARTUP),
        )
        if not trials.get_trials(deepcopy=False):
            base = study.trials[0].parameters
            trials.enqueue_trial({place: _encoded(base[place], space) for place, space in settings.vary.items()})
        return cls(optuna, trials, settings.seed)

    def ask(self, number: int) -> optuna.Trial:
        """Return a trial that was begun before, or begin the next one."""
        stream = np.random.SeedSequence([self.seed, number])
        seed = int(stream.generate_state(1)[0])
        self.trials.sampler = self.optuna.samplers.TPESampler(seed=seed, n_startup_trials=N_STARTUP)
        begun = [one for one in self._known() if one.state != self.optuna.trial.TrialState.WAITING]
        return self.optuna.Trial(self.trials, begun[number]._trial_id) if number < len(begun) else self.trials.ask()

    def gives_up(self, asked: optuna.Trial, one: ScoredTrial) -> bool:
        """Tell whether a trial is given up after the repeats behind its score, as it was if it is over."""
        known = self._known()[asked.number]
        if known.state.is_finished():
            return bool(known.user_attrs[_N_REPEATS] == one.n_repeats)
        if one.n_repeats not in known.intermediate_values:
            asked.report(one.score, one.n_repeats)
        return math.isinf(one.score) or asked.should_prune()

    def tell(self, asked: optuna.Trial, one: ScoredTrial) -> None:
        """Record what came of a trial; one with failed runs counts as given up."""
        if self._known()[asked.number].state.is_finished():
            return
        asked.set_user_attr(_N_REPEATS, one.n_repeats)
        if one.is_pruned or math.isinf(one.score):
            self.trials.tell(asked.number, state=self.optuna.trial.TrialState.PRUNED)
        else:
            self.trials.tell(asked.number, one.score)

    def _known(self) -> list[optuna.trial.FrozenTrial]:
        known: list[optuna.trial.FrozenTrial] = self.trials.get_trials(deepcopy=False)
        return known


def _suggest(asked: optuna.Trial, place: str, space: Space) -> Any:
    """Return a parameter's value, drawn by the sampler or as it was drawn before."""
    if not isinstance(space, Interval):
        return space.choices[asked.suggest_categorical(place, list(range(len(space.choices))))]
    if space.is_whole:
        return asked.suggest_int(place, int(space.low), int(space.high), log=space.log)
    return space.rounded(asked.suggest_float(place, float(space.low), float(space.high), log=space.log))


def _encoded(value: Any, space: Space) -> Any:
    """Return a value as Optuna knows it: one of several choices by its place among them."""
    return value if isinstance(space, Interval) else space.choices.index(value)


def _shifted(
    progress: Callable[[int, int], None] | None, n_before: int, n_total: int
) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda n_finished, _: progress(n_before + n_finished, n_total)
