"""Pages that stand alone: one HTML file with its style, its figures and its sounds in it."""

from pipelines.look.page.figures import Histogram, Plot, histogram, plot
from pipelines.look.page.page import Page, render_page, write_page

__all__ = ["Histogram", "Page", "Plot", "histogram", "plot", "render_page", "write_page"]
