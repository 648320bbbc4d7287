"""Reads that are executed: what converted code reads from outside of a recording, as guards.

Converted code itself says what it reads, one operator at a time, and a kernel depends on that
alone. Where notes cannot tell, a walk (`capture/`) over all that code could reach comes before the
recording.

    notes.py       notes a value that is read of an object, once, as it was before the function ran
    attributes.py  finds attributes as Python does, so that the code of properties is converted
    containers.py  items, lengths and elements, and how containers were before they were changed
    writes.py      writes, of which later reads are not a dependency, and what they leave behind
    calls.py       calls: functions are converted, and C is given objects whose contents are noted
    rules.py       rules of builtins, and of functions that call the user's code
    reader.py      all of that as operators
    captured.py    what was found, in place of a walk: arrays, attributes that are lent, changes
    check.py       compiles what was noted to one function for each module
    repair.py      lets objects that were built anew take the places of those that were read
"""
