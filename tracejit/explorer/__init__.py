"""Pages that show the user's code beside the code generated from it."""
