"""What grows with the rows of a plan, and engines side by side."""
