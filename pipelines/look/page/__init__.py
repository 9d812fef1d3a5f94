"""Pages that stand alone: one HTML file with its style, its figures and its sounds in it."""

from pipelines.look.page.page import Histogram, Page, Plot, histogram, plot, render_page, write_page

__all__ = ["Histogram", "Page", "Plot", "histogram", "plot", "render_page", "write_page"]
