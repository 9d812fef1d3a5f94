"""Features, towers and heads."""
