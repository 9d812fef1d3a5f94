"""What requests cost and what was bought: prices, budget, ledger, store."""
