"""Where shards are rendered: processes of this machine, or a Dask cluster."""
