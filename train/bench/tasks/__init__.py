"""The tasks of the bench, each from rows of data to a plan."""
