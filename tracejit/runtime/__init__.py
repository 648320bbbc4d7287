"""The surroundings of a generated module at run time: dispatch, threads, buffers."""
