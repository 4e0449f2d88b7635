"""The functions of the language, a module a type. ``table`` has all of them by name."""
