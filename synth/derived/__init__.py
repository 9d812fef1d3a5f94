"""What is derived from finished samples: questions and differences."""
