"""Building a corpus: plan, render, finalise, certify."""
