"""Drawings of the packages as they import each other: `make drawings`.

One for the whole, one for each top package, and one for each package below with more than three
modules. They are made from the import graph alone, so no list of them is kept by hand.
"""
