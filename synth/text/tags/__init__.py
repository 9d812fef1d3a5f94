"""Music tags: vocabularies, their files, and captions made of tags."""
