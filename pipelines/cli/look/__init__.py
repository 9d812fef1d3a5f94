"""Commands that look: inspect, sql, diff, report, browse, audit, check, versions, promote, gc."""
