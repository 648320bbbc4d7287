"""The record of an operation, and the parts that every record is made of."""
