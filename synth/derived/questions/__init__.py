"""Questions about samples whose answers their timelines prove."""
