"""`python -m handformer` is `handformer`."""

from handformer.cli import main

main()
