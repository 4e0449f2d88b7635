"""Several servers, one PostgreSQL between them: it says which server owns a vault, and keeps the journal of its changes.

- ``database``: the connections, and the numbered migrations of the schema.
- ``leases``: which server owns which vault, and until when. ``Lease.check`` is asked before each rename into a vault.
- ``records``: journal, proposals and decisions of one vault, as ``vault.changes.record_store`` keeps them in SQLite.
- ``replica``: one server's part: takes its vaults' leases, renews them, gives them back. ``Replica.standing`` says who owns the
  vaults, and at which address; a server that does not own them passes requests on to there.

Only this room imports ``psycopg``, and nothing imports this room before a run names a database.
"""
