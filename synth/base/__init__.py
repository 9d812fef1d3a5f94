"""What every package stands on: errors, units, randomness, files, YAML, progress."""
