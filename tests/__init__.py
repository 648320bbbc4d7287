"""The tests, and what they share: helpers are imported as tests.NAME."""
