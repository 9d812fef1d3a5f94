"""What sources share: the protocol, tables, folders, collected audio, integrity."""
