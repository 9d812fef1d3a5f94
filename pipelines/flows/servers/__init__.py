"""The Prefect servers that flows run on."""
