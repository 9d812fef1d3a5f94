"""Vasilakis et al.'s experiment."""
