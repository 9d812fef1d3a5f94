"""Whether this machine has what Segue's commands need: one file a group of checks."""
