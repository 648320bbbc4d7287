"""Reading and writing at an index: slices, masks, gathers, scatters."""
