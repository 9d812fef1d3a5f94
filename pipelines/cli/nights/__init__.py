"""Commands of nights: nightly, schedule, deploy."""
