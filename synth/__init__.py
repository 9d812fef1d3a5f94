"""The core library: scenes, truth, captions, rendering, sources, recipes, corpus format."""
