"""Prompts to a language model, and what is done with its replies; the network is no part of it."""
