"""The scene as a value, and its first interpreters: timeline, notation, claims, edits."""
