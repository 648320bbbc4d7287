"""Guards: the conditions on captured state under which a kernel may be used."""
