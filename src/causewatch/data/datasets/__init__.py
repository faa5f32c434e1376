"""Public datasets, loaded from the files as their publishers hand them out."""

from causewatch.data.datasets.base import Dataset, Event, Recording
from causewatch.data.datasets.catalogue import DATASETS, KnownDataset, load_dataset

__all__ = ["DATASETS", "Dataset", "Event", "KnownDataset", "Recording", "load_dataset"]
