"""The three neural baselines of the paper: recurrent, convolutional, and an autoencoder."""
