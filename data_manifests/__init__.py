"""Manifests of built corpora land here by default; the small lexicons that ship live here."""
