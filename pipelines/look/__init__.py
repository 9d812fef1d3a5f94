"""Looking at corpora: inspection, SQL, comparison, reports, the browse page."""
