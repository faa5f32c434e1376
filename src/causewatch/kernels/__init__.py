"""Arrays in, arrays out: no names, no logging, no files."""
