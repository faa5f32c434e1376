"""Other libraries’ shapes: scikit-learn, river, PyOD."""
