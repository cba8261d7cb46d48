"""The paper on the slides and the Proben1 report: modules that the references of the sources name."""
