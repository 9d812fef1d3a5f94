"""Commands of the experiments: reproduce, demo."""
