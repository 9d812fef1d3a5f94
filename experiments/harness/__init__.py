"""What experiments share: arms, exams, claims, results, plots."""
