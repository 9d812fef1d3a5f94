"""Libraries of labelled sounds."""
