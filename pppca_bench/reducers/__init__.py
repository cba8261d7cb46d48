"""Textbook methods that reduce the features: components, selections, an autoencoder."""
