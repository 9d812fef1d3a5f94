"""Reads a library of sounds into catalogue and bank."""
