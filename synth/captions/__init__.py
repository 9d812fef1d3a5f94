"""Sentences with the claims they make: captions, narratives, positives and negatives."""
