"""Conversion: a function run so that its calls and reads go through operators.

A user's function is rewritten once, at its syntax tree, into a function that does the same but asks
`Operators` for what it calls and reads. Nothing here knows what the operators are for.

    source.py      finds the definition of a function, and takes it only where it compiles to the
                   very code that runs
    operators.py   the operators, each of which may be missing
    rewrite.py     rewrites calls and reads
    mapping.py     hands globals, builtins and cells to code without usable source
    converter.py   makes converted functions of whatever is called
    exclusions.py  names what is never converted
"""
