"""Libraries that are computed: sounds and music that need no download."""
