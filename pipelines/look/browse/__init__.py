"""The browse page: a corpus to look at and to hear, served read-only to this machine."""
