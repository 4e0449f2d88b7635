"""The difference of one file before and after, for a person who reads prose: ``file_diff``. Pure functions, no files.

``hunks_of`` is the one numbering of hunks: what shows, keeps or undoes a hunk uses it. ``unchanged_rows``
are lines that a difference leaves out.
"""

from vaultwire.review.diff.file_view import file_diff, unchanged_rows
from vaultwire.review.diff.rows import hunks_of

__all__ = ["file_diff", "hunks_of", "unchanged_rows"]
