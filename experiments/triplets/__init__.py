"""TeminAL's experiment."""
