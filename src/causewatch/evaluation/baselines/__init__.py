"""What causewatch is compared with, all behind one `Detector`."""
