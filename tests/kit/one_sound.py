"""Pairs of captions that may name one sound."""

# Of people, animals, weather, engines and water.
PLAIN_PAIRS = (
    ("A man is talking", "Someone speaks"),
    ("A dog barks", "A puppy yaps"),
    ("Rain falls", "A downpour"),
    ("A car engine", "A vehicle idles"),
    ("A woman speaks", "A female voice"),
    ("People laugh", "Children giggle"),
    ("A toilet flushes", "Water runs"),
    ("A crowd cheers", "People applaud"),
)
