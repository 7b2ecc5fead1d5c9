"""What a person decided, recorded beside the machine's verdict: decision.json, decision.md, and a chain over all."""
