"""Commands that make: new, sources, check, ingest, plan, build, export."""
