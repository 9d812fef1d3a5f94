"""The product's heart: scenes, truth, captions, rendering, sources, recipes, corpus format."""
