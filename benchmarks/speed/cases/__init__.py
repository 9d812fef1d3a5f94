"""One file a case: who contends in it, and what Segue does in its turn."""
