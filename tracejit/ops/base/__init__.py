"""The record of an operation, and the parts that all records share."""
