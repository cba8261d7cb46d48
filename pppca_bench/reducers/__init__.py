"""Reducers of features from the textbooks: projections, feature selection, an autoencoder."""
