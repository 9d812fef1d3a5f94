"""The `segue` command, one file a command."""
