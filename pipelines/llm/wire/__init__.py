"""The endpoint: requests, answers, retries, probe, Batch API."""
