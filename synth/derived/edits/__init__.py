"""Instructions that lead from one sample of a pair to the other."""
