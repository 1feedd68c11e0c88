"""The page in a browser: its files, the server that shows it, and the same page as one file."""
