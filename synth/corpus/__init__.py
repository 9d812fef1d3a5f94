"""The corpus format: schema, shards, opening, licences, leakage."""
