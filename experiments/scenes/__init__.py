"""CompA's experiment."""
