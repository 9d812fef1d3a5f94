"""Decides what a timeline proves or refutes, also in a crop."""
