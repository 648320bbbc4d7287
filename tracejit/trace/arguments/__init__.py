"""The signature of a call: types, static values and free dimensions."""
