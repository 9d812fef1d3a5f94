"""Where a corpus lives: paths, locks, leases, mirrors at URLs."""
