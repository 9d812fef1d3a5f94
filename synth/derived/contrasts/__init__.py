"""Contrasts: a prompt that two recordings answer differently, each answer proven and refuted."""
