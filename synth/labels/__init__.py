"""What sounds are called: the lexicon of phrases, and music tags."""
