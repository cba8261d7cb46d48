"""What estimators share: parameters, checks of samples, projections, rules for the number of components."""
