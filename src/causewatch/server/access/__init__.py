"""Who is let in to the dashboard, what they may do, and what they did."""
