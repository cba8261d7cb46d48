"""Registry of the methods and classifiers that a config can name.

A new method or classifier needs an estimator in its own module and an entry here; no other code names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pppca_bench.methods.entry import Classifier, Method

_AUTOCORRELATION: Mapping[tuple[str, object], str] = {("centre", False): "autocor"}
_BY_SPECTRUM = ("n_components", "variance_ratio")
_BY_RULE = (*_BY_SPECTRUM, "keep")
_CRITERIA: Mapping[tuple[str, object], str] = {
    ("criterion", "mutual_information"): "mutual information",
    ("criterion", "conditional_mutual_information"): "conditional mutual information",
    ("criterion", "chi_squared"): "chi-squared",
    ("criterion", "accuracy"): "accuracy",
    ("criterion", "t_test"): "t-test",
}
_HEBBIAN: Mapping[str, Any] = {"labels": _AUTOCORRELATION, "kernels": ("linear_algebra", "hebbian")}
_EVOLUTION: Mapping[str, Any] = {"labels": _AUTOCORRELATION, "kernels": ("linear_algebra", "evolution")}
_STREAMING: Mapping[str, Any] = {
    "labels": _AUTOCORRELATION,
    "instead_of_tau": ("n_components",),
    "kernels": ("streaming", "linear_algebra"),
}
_CLASSIFIES: Mapping[str, Any] = {"makes": "classes", "needs_classes": True}
_PIVOT: Mapping[str, object] = {"hidden": "pivot"}

_SQUARED_ERROR = (
    "The squared error is minimised, summed over outputs and examples; where targets are classes, they are 1 at"
    " the output of the class and 0 at the others."
)
_HIDDEN = "Hidden nodes have the activation x / (1 + |x|); every hidden and output node has a bias."
_KEPT = "The weights of the validation minimum are kept."
_BY_RPROP: Mapping[str, str] = {
    "network": _HIDDEN,
    "algorithm": "RPROP (Riedmiller and Braun 1993) in full batches: one update per epoch.",
    "termination": _KEPT,
    "error": _SQUARED_ERROR,
}
_BY_BACKPROPAGATION: Mapping[str, str] = {
    "algorithm": (
        "Online backpropagation (Rumelhart, Hinton and Williams 1986): an update after each example, these in a"
        " new random order in each epoch."
    ),
    "error": _SQUARED_ERROR,
}

_METHODS = (
    Method(
        name="gha",
        title="GHA",
        does="generalized Hebbian algorithm, all nodes learn",
        source="Sanger 1989; slides",
        estimator="pppca_bench.engines.gha:GHA",
        version=4,
        **_HEBBIAN,
    ),
    Method(
        name="dgha",
        title="DGHA",
        does="GHA that removes nodes by criterion (1) while it learns",
        source="slides",
        estimator="pppca_bench.engines.dgha:DGHA",
        version=4,
        **_HEBBIAN,
    ),
    Method(
        name="dgha_speedup",
        title="DGHA against GHA",
        does="times and operations of both, measured side by side",
        source="slides",
        estimator="pppca_bench.experiments.speedup:Speedup",
        version=3,
        makes="measures",
        timed_by="timed",
        seeded_as="dgha",
        **_HEBBIAN,
    ),
    Method(
        name="hebbian_pca",
        title="Hebbian PCA",
        does="the iris notebook's run of GHA: weights of a row and reconstruction error",
        source="Hebbian-Based Principal Component Analysis",
        estimator="pppca_bench.engines.counterparts:NotebookGHA",
        version=2,
        kernels=("linear_algebra", "hebbian"),
        makes="measures",
        reduces=False,
    ),
    Method(
        name="ne_ppca",
        title="NE-pPCA",
        does="genetic algorithm that evolves an orthonormal linear network",
        source="slides",
        estimator="pppca_bench.engines.ne_ppca:NEpPCA",
        version=4,
        **_EVOLUTION,
    ),
    Method(
        name="ne_ppca_times",
        title="NE-pPCA, timed steps",
        does="shares of the literal algorithm's time: fitness, Gram–Schmidt process, responses, breeding",
        source="slides",
        estimator="pppca_bench.engines.fitness_time:FitnessTime",
        makes="measures",
        timed_by="timed",
        seeded_as="ne_ppca",
        kernels=("linear_algebra", "literal_evolution"),
    ),
    Method(
        name="pca_like_dgha",
        title="PCA, as many as DGHA",
        does="exact principal components, as many as DGHA keeps with the same settings and random numbers",
        source="counterpart of DGHA at equal n_components",
        estimator="pppca_bench.engines.counterparts:PCALikeDGHA",
        version=4,
        seeded_as="dgha",
        **_HEBBIAN,
    ),
    Method(
        name="pca_like_ne_ppca",
        title="PCA, as many as NE-pPCA",
        does="exact principal components, as many as NE-pPCA keeps with the same settings and random numbers",
        source="counterpart of NE-pPCA at equal n_components",
        estimator="pppca_bench.engines.counterparts:PCALikeNEpPCA",
        version=4,
        seeded_as="ne_ppca",
        **_EVOLUTION,
    ),
    Method(
        name="dgha_without_removal",
        title="DGHA without removal",
        does="as many rows as DGHA keeps, from the start: no row is removed",
        source="counterfactual of DGHA",
        estimator="pppca_bench.engines.counterparts:DGHAWithoutRemoval",
        version=4,
        seeded_as="dgha",
        **_HEBBIAN,
    ),
    Method(
        name="ccipca",
        title="CCIPCA",
        does="components in one pass, without a learning rate",
        source="Weng, Zhang & Hwang 2003",
        estimator="pppca_bench.engines.streaming:CCIPCA",
        **_STREAMING,
    ),
    Method(
        name="fsm",
        title="FSM",
        does="components in one pass, by fast similarity matching",
        source="Giovannucci, Minden, Pehlevan & Chklovskii 2018",
        estimator="pppca_bench.engines.streaming:FastSimilarityMatching",
        **_STREAMING,
    ),
    Method(
        name="adaoja",
        title="AdaOja",
        does="components in one pass, by Oja's rule with rates that adapt",
        source="Henriksen & Ward 2019",
        estimator="pppca_bench.engines.streaming:AdaOja",
        **_STREAMING,
    ),
    Method(
        name="eigengame",
        title="EigenGame",
        does="components in one pass, by the μ-EigenGame",
        source="Gemp, McWilliams, Vernade & Graepel 2021",
        estimator="pppca_bench.engines.streaming:EigenGame",
        **_STREAMING,
    ),
    Method(
        name="all_features",
        title="all features",
        does="no reduction, the classifier alone",
        source="Proben1 report",
        estimator="pppca_bench.reducers.linear_projection:AllFeatures",
        reduces=False,
    ),
    Method(
        name="pca",
        title="PCA",
        does="exact principal components, by eigenvectors of the covariance matrix",
        source="Hotelling 1933",
        estimator="pppca_bench.reducers.linear_projection:CovariancePCA",
        version=3,
        kernels=("linear_algebra",),
        instead_of_tau=_BY_RULE,
    ),
    Method(
        name="pca_svd",
        title="PCA (SVD)",
        does="exact principal components, by singular values",
        source="Eckart & Young 1936",
        estimator="pppca_bench.reducers.linear_projection:SingularValuePCA",
        version=3,
        kernels=("linear_algebra",),
        instead_of_tau=_BY_RULE,
    ),
    Method(
        name="kernel_pca",
        title="kernel PCA",
        does="components in the space of a Gaussian kernel",
        source="Schölkopf, Smola & Müller 1998",
        estimator="pppca_bench.reducers.nonlinear_projection:GaussianKernelPCA",
        version=2,
        kernels=("linear_algebra",),
        needs_classes=True,
        instead_of_tau=_BY_SPECTRUM,
    ),
    Method(
        name="ica",
        title="ICA",
        does="independent components (FastICA)",
        source="Hyvärinen & Oja 2000",
        estimator="pppca_bench.reducers.linear_projection:ICA",
        version=3,
        kernels=("linear_algebra",),
        instead_of_tau=_BY_SPECTRUM,
    ),
    Method(
        name="lda",
        title="LDA",
        does="Fisher's linear discriminants",
        source="Fisher 1936; Rao 1948",
        estimator="pppca_bench.reducers.lda:LDA",
        version=3,
        kernels=("linear_algebra",),
        needs_classes=True,
    ),
    Method(
        name="autoencoder",
        title="autoencoder",
        does="middle layer of an auto-associative network",
        source="Bourlard & Kamp 1988",
        estimator="pppca_bench.reducers.nonlinear_projection:Autoencoder",
        version=2,
        kernels=("linear_algebra",),
        instead_of_tau=_BY_SPECTRUM,
    ),
    Method(
        name="filter",
        title="filter",
        does="features of the highest scores: mutual information, chi-squared and others",
        source="Mitchell 2006",
        estimator="pppca_bench.reducers.filter_selection:FilterSelector",
        version=3,
        needs_classes=True,
        labels=_CRITERIA,
    ),
    Method(
        name="forward",
        title="forward selection",
        does="features added one by one by validation error",
        source="Whitney 1971",
        estimator="pppca_bench.reducers.wrapper_selection:ForwardSelector",
        needs_classes=True,
    ),
    Method(
        name="backward",
        title="backward elimination",
        does="features removed one by one by validation error",
        source="Marill & Green 1963",
        estimator="pppca_bench.reducers.wrapper_selection:BackwardSelector",
        needs_classes=True,
    ),
    Method(
        name="rfe",
        title="RFENN",
        does="features removed one by one by the weights of networks",
        source="slides; Guyon et al. 2002",
        estimator="pppca_bench.reducers.wrapper_selection:NetworkRFE",
        version=2,
        needs_classes=True,
    ),
    Method(
        name="majority_class",
        title="majority class",
        does="the most frequent class of the training data, for every example",
        source="reference line",
        estimator="pppca_bench.classifiers.sklearn_classifiers:MajorityClassifier",
        **_CLASSIFIES,
        reduces=False,
    ),
    Method(
        name="ga_mlp",
        title="GA",
        does="network whose weights, trained by RPROP or random, a genetic algorithm evolves; classifies by itself",
        source="textbook GA; slides",
        estimator="pppca_bench.classifiers.genetic_mlp:GAMLPClassifier",
        version=2,
        **_CLASSIFIES,
        reduces=False,
        # Of six readings, the reading with least validation error: docs/choices.md.
        defaults={"hidden": "pivot", "shortcuts": True, "start": "trained"},
        details={"network": _HIDDEN, "termination": _KEPT, "error": _SQUARED_ERROR},
        kernels=("network_errors", "batch_training"),
    ),
    Method(
        name="ga_structure",
        title="GA (inputs and hidden nodes)",
        does="network whose inputs and hidden nodes a genetic algorithm picks; classifies by itself",
        source="textbook GA; slides",
        estimator="pppca_bench.classifiers.genetic_mlp:StructureGAClassifier",
        **_CLASSIFIES,
        defaults=_PIVOT,
        details=_BY_RPROP,
        kernels=("batch_training",),
    ),
    Method(
        name="pruned_mlp",
        title="Pruning",
        does="network that loses weights by saliency and is trained again; classifies by itself",
        source="LeCun, Denker & Solla 1990; slides",
        estimator="pppca_bench.classifiers.pruned_mlp:PrunedMLPClassifier",
        **_CLASSIFIES,
        defaults=_PIVOT,
        details=_BY_RPROP,
        kernels=("batch_training",),
    ),
    Method(
        name="flgp",
        title="FLGP",
        does="discriminant functions evolved in layers of populations; classifies by itself",
        source="Lin, Ke, Chien & Yang 2008; slides",
        estimator="pppca_bench.classifiers.flgp:FLGPClassifier",
        version=2,
        **_CLASSIFIES,
    ),
    Method(
        name="rfe_svm",
        title="RFESVM",
        does="recursive feature elimination with a linear support vector machine; classifies by itself",
        source="Guyon et al. 2002; slides",
        estimator="pppca_bench.classifiers.sklearn_classifiers:RFESVMClassifier",
        **_CLASSIFIES,
    ),
)

_CLASSIFIERS = (
    Classifier(
        name="rprop",
        title="RPROP",
        does="one network, trained by RPROP with early stopping",
        source="Proben1 report, section 3.3",
        estimator="pppca_bench.classifiers.gradient_mlp:RpropMLPClassifier",
        regressor="pppca_bench.classifiers.gradient_mlp:RpropMLPRegressor",
        defaults={**_PIVOT, "input_scaling": "pivot"},
        details=_BY_RPROP,
        kernels=("batch_training",),
    ),
    Classifier(
        name="backprop",
        title="backpropagation",
        does="one network, trained by online backpropagation",
        source="slides (unstated)",
        estimator="pppca_bench.classifiers.gradient_mlp:BackpropMLPClassifier",
        details=_BY_BACKPROPAGATION,
        kernels=("online_training",),
    ),
    Classifier(
        name="slides_mlp",
        title="slides' network",
        does="one network, trained by online backpropagation with the settings nearest to the slides' errors",
        source="docs/choices.md; the slides do not describe theirs",
        estimator="pppca_bench.classifiers.gradient_mlp:BackpropMLPClassifier",
        defaults={
            "hidden": (50,),
            "hidden_activation": "softsign",
            "output_activation": "logistic",
            "standardise": True,
            "learning_rate": 0.32,
            "decay_epochs": 15.0,
            "initial_weight_range": 0.0166,
            "max_epochs": 21,
            "strip_length": 10,
            "keep": "best",
        },
        details=_BY_BACKPROPAGATION,
        kernels=("online_training",),
    ),
    Classifier(
        name="stump",
        title="stump",
        does="decision tree of depth 1",
        source="textbook stumping",
        estimator="pppca_bench.classifiers.sklearn_classifiers:StumpClassifier",
    ),
    Classifier(
        name="bagging",
        title="bagging",
        does="mean or vote of classifiers of bootstrap samples",
        source="Breiman 1996",
        estimator="pppca_bench.classifiers.ensembles:BaggingClassifier",
        is_ensemble=True,
    ),
    Classifier(
        name="subagging",
        title="subagging",
        does="mean or vote of classifiers of samples of half the size, without replacement",
        source="textbook subagging; Bühlmann & Yu 2002",
        estimator="pppca_bench.classifiers.ensembles:BaggingClassifier",
        defaults={"sample_share": 0.5, "replace": False},
        is_ensemble=True,
    ),
    Classifier(
        name="adaboost",
        title="AdaBoost",
        does="vote of classifiers, each trained on the errors of those before it",
        source="Freund & Schapire 1996",
        estimator="pppca_bench.classifiers.ensembles:AdaBoostClassifier",
        version=2,
        is_ensemble=True,
    ),
)

METHODS: Mapping[str, Method] = MappingProxyType({entry.name: entry for entry in _METHODS})
"""Methods by name in ``method:``, methods of the slides first."""

CLASSIFIERS: Mapping[str, Classifier] = MappingProxyType({entry.name: entry for entry in _CLASSIFIERS})
"""Classifiers by name in ``rule:``."""

DEFAULT_RULE = "rprop"
"""Default classifier of configs, from the Proben1 report."""
