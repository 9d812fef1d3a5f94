"""What a user writes: specs, their values, files and templates."""
