"""The commands that need torch: `segue train`, `segue eval`, `segue export`."""
