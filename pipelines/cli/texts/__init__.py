"""Commands over text: text, tags, lexicon, llm."""
