"""The versions of a corpus: listed, removed, made again."""
