"""The report of a build: one HTML file that shows a corpus, or a plan, and lets it be heard."""
