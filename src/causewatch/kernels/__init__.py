"""causewatch.kernels."""
