"""Where requests go: the wire, a boto3 client, the engine in this process. A backend makes one attempt, reports honestly, and decides nothing."""
