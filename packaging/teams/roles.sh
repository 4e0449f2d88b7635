#!/bin/sh
# Run once by the container of PostgreSQL: the role of the servers. `vaultwire database init --grant vaultwire` gives its rights.
set -eu
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 --set password="$VAULTWIRE_PASSWORD" <<'SQL'
CREATE ROLE vaultwire LOGIN PASSWORD :'password';
SQL
