"""Libraries of tagged and captioned music."""
