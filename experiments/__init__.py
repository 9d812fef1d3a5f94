"""Papers' experiments, done again: corpora, models, tests, and whether the papers' claims hold."""
