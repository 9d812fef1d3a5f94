"""The judge: what a timeline proves, what it refutes, and what is left of a claim in a crop."""
