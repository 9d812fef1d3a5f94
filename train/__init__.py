"""CLAP training and evaluation on Segue's corpora."""
