"""What differs between two corpora, or two versions of one, and why."""
