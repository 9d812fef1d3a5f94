"""New specs, in which every setting stands with its default and its meaning."""
