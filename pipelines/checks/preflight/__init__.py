"""Preflight: what a plan will do to a training run, its disk and its purse, before any audio."""
