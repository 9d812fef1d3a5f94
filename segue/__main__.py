"""`python -m segue`: the command line."""

from pipelines.cli.__main__ import main

if __name__ == "__main__":
    main()
