"""The leakage firewall: which clips are the same recording, the same bytes or the same sound."""
