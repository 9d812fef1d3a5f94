"""A corpus looked through: proofs, shortcuts, leaks."""
