"""The SQL console: the manifests of a corpus as read-only tables."""
