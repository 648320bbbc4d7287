"""Function and its collaborators: from a call to the kernel that serves it."""
