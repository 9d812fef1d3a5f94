"""Generation by language models: bought once, kept for ever, never above the budget."""
