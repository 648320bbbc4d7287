"""The Tensor, which stands for an array while a function is recorded."""
