"""The peers' turns; they run in an environment of their own and import nothing of Segue's."""
