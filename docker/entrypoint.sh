#!/bin/sh
# Runs the given command; NAME_FILE=/run/secrets/x becomes NAME=<what is in the file>.
set -eu
for name in PREFECT_SERVER_DATABASE_PASSWORD PREFECT_SERVER_API_AUTH_STRING PREFECT_API_AUTH_STRING AWS_SECRET_ACCESS_KEY; do
  eval "file=\${${name}_FILE:-}"
  [ -n "$file" ] || continue
  if ! [ -r "$file" ] || ! [ -s "$file" ]; then
    echo "error: ${name}_FILE is $file, which is missing, empty or not readable; docs/deploy.md says how it is given" >&2
    exit 78
  fi
  export "$name=$(cat "$file")"
  unset "${name}_FILE"
done
exec "$@"
