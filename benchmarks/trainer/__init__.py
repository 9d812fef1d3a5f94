"""Segue's training step beside that of open_clip and LAION-CLAP."""
