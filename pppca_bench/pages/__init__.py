"""Tables of texts, figures and pages, and their formats."""
