"""What a training run is: frozen settings, checked before any work starts."""
