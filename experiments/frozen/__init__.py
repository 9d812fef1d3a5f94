"""Score models on frozen test sets, and compare them on one page: `segue bench run`."""
