"""The report of a training run: one HTML file with its settings, curves and test results."""
