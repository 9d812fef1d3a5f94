"""The training loop, its state and what it leaves on disk."""
