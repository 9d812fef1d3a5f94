"""The model: features, towers, heads."""
