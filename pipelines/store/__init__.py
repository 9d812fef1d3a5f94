"""Corpora at URLs: their lease, and their copies here."""
