"""What a crew's model calls pass through on their way into the ledger."""
