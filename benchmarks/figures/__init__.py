"""Runs documented commands again, and keeps the figures that README and docs quote."""
