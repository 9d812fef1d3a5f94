"""Shortcuts: what of a corpus can be told without listening, by its texts or by trivial audio."""
