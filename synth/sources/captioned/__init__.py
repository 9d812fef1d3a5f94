"""Libraries of captioned sounds."""
