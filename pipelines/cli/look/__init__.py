"""Commands that look: inspect, report, browse, audit, doctor, versions, gc."""
