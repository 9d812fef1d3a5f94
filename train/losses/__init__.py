"""Contrastive losses: plans over one primitive, and what stands beside it."""
