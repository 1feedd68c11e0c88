"""Short samples and no pictures, where a command runs in this process."""

from tests.train.conftest import quick

__all__ = ["quick"]
