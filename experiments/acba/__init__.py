"""Wu et al.'s experiment."""
