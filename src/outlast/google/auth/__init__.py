"""Who we are to Google."""
