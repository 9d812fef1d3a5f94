"""Settings of a training run, frozen and checked before any work starts."""
