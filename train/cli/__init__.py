"""The commands that need torch: `segue train`, `segue eval`, and half of `segue export`."""
