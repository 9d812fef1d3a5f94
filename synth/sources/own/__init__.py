"""Libraries of your own: folders, Parquet, Hugging Face, vocabularies."""
