"""What every test shares: draws that don't depend on how busy the machine is."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
