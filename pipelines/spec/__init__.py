"""The spec: what a user writes, its values, files and templates."""
