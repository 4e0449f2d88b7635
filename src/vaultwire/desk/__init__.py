"""Web pages for the person.

Empty until a page is built; the import contract already guards its place.
"""
