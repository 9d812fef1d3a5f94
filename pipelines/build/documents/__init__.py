"""What lies beside a corpus: its credits, its card, its description."""
