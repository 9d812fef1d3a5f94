"""What a night does, and when it comes."""
