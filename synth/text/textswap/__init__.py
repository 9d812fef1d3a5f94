"""The TextSwap dictionary: tags that contradict each other."""
