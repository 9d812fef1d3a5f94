"""`python -m pipelines.cli` is `segue`."""

from pipelines.cli.app import main

if __name__ == "__main__":
    main()
