"""The worked examples, a file a theme. The numbers in `expected` were found on paper."""
