"""The public datasets that can be loaded, and how to get each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from causewatch.data.datasets.base import Dataset
from causewatch.errors import UnknownNameError

__all__ = ["DATASETS", "KnownDataset", "load_dataset"]


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """One public dataset.

    Attributes
    ----------
    name
        Short name, as :func:`load_dataset` takes it.
    title
        What people call it.
    about
        What it is.
    origin
        Who has it, under which terms, and how to get it.
    files
        What must be given.
    module
        The module that loads it; imported when it is needed.
    """

    name: str
    title: str
    about: str
    origin: str
    files: str
    module: str


_LIST = (
    KnownDataset(
        name="swat",
        title="SWaT (December 2015)",
        about="A six-stage water-treatment plant, 51 signals, one row per second: six days of "
        "normal work, five days with 36 attacks, two of which are one event here.",
        origin="iTrust, Singapore University of Technology and Design; on request: "
        "https://itrust.sutd.edu.sg/itrust-labs_datasets/",
        files="SWaT_Dataset_Normal_v1 (or v0) and SWaT_Dataset_Attack_v0, each CSV or XLSX, or "
        "the folder that holds them.",
        module="swat",
    ),
    KnownDataset(
        name="pepper",
        title="Pepper",
        about="A humanoid robot, 255 signals: normal work, and attacks on its LEDs, joints and "
        "wheels.",
        origin="RobSec, Sapienza University of Rome; public.",
        files="normal.csv and at least one of JointControl.csv, LedsControl.csv and "
        "WheelsControl.csv, or the folder that holds them.",
        module="pepper",
    ),
    KnownDataset(
        name="wadi",
        title="WADI",
        about="A water-distribution network, 127 signals, one row per second: 14 days of normal "
        "work, two days with 15 attacks.",
        origin="iTrust, Singapore University of Technology and Design; on request: "
        "https://itrust.sutd.edu.sg/itrust-labs_datasets/",
        files="Of A1 (9 Oct 2017) WADI_14days.csv and WADI_attackdata.csv, of A2 (19 Nov 2019) "
        "WADI_14days_new.csv and WADI_attackdataLABLE.csv, or the folder of one of them.",
        module="wadi",
    ),
    KnownDataset(
        name="hai",
        title="HAI",
        about="Boiler, turbine and water treatment coupled by a simulator of power generation, 59 "
        "to 225 signals, one row per second, 38 to 58 attacks.",
        origin="Affiliated Institute of ETRI, CC BY-SA 4.0: https://github.com/icsdataset/hai",
        files="train*.csv and test*.csv (also gzipped) of one version: 20.07, 21.03, 22.04, 23.05 "
        "or HAIEnd 23.05, the last two with label-test*.csv; or its folder.",
        module="hai",
    ),
    KnownDataset(
        name="tsb-ad",
        title="TSB-AD",
        about="A collection of labelled time series of 40 sources, one or many signals each, for "
        "comparing detectors.",
        origin="TheDatumOrg; licences differ by source: https://github.com/TheDatumOrg/TSB-AD",
        files="Files named like 001_NAB_id_1_Facility_tr_1007_1st_2014.csv, or a folder of them.",
        module="tsb_ad",
    ),
    KnownDataset(
        name="skab",
        title="SKAB",
        about="A testbed that circulates water, 8 signals, one row per second: one normal "
        "recording, 34 experiments with labels.",
        origin="waico, GPL-3: https://github.com/waico/SKAB",
        files="The folder data with anomaly-free, valve1, valve2 and other.",
        module="skab",
    ),
    KnownDataset(
        name="tep",
        title="Tennessee Eastman process",
        about="A simulated chemical plant, 52 signals, one row every three minutes: normal work "
        "and 21 faults.",
        origin="R. Braatz, University of Illinois; permissive notice.",
        files="d00.dat, d00_te.dat and dNN.dat, dNN_te.dat of faults 01 to 21, or their folder.",
        module="tep",
    ),
    KnownDataset(
        name="batadal",
        title="BATADAL",
        about="A simulated water-distribution network, 43 signals, one row per hour: a normal "
        "year, two recordings with attacks.",
        origin="BATADAL competition; public: https://www.batadal.net",
        files="dataset03.csv, dataset04.csv and test_dataset.csv, or their folder.",
        module="batadal",
    ),
    KnownDataset(
        name="causrca",
        title="causRCA",
        about="A vertical lathe, 92 mostly on/off tags as events: normal work, faults in a digital "
        "twin with their causes, and an expert's causal graph.",
        origin="Fraunhofer IWU, Apache-2.0.",
        files="The folder with real_op and dig_twin.",
        module="causrca",
    ),
    KnownDataset(
        name="voraus",
        title="voraus-AD",
        about="A robot arm that moves boxes, 130 machine signals: normal cycles and cycles of "
        "twelve kinds of faults, labelled as a whole.",
        origin="vorausrobotik, CC BY-NC-SA 4.0: https://github.com/vorausrobotik/voraus-ad-dataset",
        files="voraus-ad-dataset-100hz.parquet (or 500hz).",
        module="voraus",
    ),
    KnownDataset(
        name="gecco",
        title="GECCO 2018",
        about="Quality of drinking water, 9 sensors, one row per minute: three months with 51 "
        "events, drift and bad sensors.",
        origin="GECCO industrial challenge 2018; public.",
        files="geccoIC2018Train.csv, or its folder.",
        module="gecco",
    ),
    KnownDataset(
        name="3w",
        title="3W, oil wells",
        about="Offshore oil wells, 8 sensors of which some are dead, one row per second: normal "
        "recordings months apart, and recordings with an event.",
        origin="Petrobras (Vargas et al. 2019), CC BY 4.0: https://github.com/petrobras/3W",
        files="Files named like WELL-00001_20170201020207.parquet, normal and with events, or "
        "their folder; causes.json beside them is read for the signals of events.",
        module="three_w",
    ),
    KnownDataset(
        name="cranfield",
        title="Cranfield three-phase flow facility",
        about="A pilot plant for air, water and oil, 24 tags, one row per second: six recordings "
        "with faults that come little by little, while operating points are changed on purpose.",
        origin="Cranfield University (Ruiz-Cárcel et al. 2015).",
        files="Recordings named like case1_1.parquet with causes.json beside them, or their "
        "folder.",
        module="cranfield",
    ),
    KnownDataset(
        name="alfa",
        title="ALFA",
        about="A fixed-wing drone, 41 signals, ten rows per second: healthy flights, and flights "
        "in which an engine or a control surface fails.",
        origin="Carnegie Mellon University (Keipour et al. 2019).",
        files="Flights named like carbonZ_2018-09-11-14-41-38_no_failure.parquet with causes.json "
        "beside them, or their folder.",
        module="alfa",
    ),
    KnownDataset(
        name="lbnl",
        title="LBNL inventory of building systems",
        about="An air-handling unit in a real building, 14 signals, one row per minute: days with "
        "and without a fault.",
        origin="Lawrence Berkeley National Laboratory, 2020.",
        files="SZVAV.csv, or its folder; causes.json beside it is read for what was done.",
        module="lbnl",
    ),
    KnownDataset(
        name="cobotops",
        title="UR3 CobotOps",
        about="A robot arm that grips things, 19 signals, one row per second: two sessions with "
        "protective stops and lost grips.",
        origin="UCI Machine Learning Repository 963 (Tyrovolas et al.), CC BY 4.0.",
        files="dataset_02052023.csv, or its folder.",
        module="cobotops",
    ),
    KnownDataset(
        name="carobd",
        title="carOBD",
        about="A healthy car, 26 signals, about two rows per second: trips without any fault, for "
        "false alarms.",
        origin="E. Barreto, free to everyone: https://github.com/eron93br/carOBD",
        files="Trips such as drive1.csv and long1.csv, or their folder.",
        module="carobd",
    ),
)

DATASETS: Mapping[str, KnownDataset] = MappingProxyType({entry.name: entry for entry in _LIST})
"""The datasets that can be loaded, by name."""


def load_dataset(name: str, *paths: str | Path) -> Dataset:
    """Load a public dataset from files the user has.

    Parameters
    ----------
    name
        One of `DATASETS`, e.g. ``"swat"``.
    *paths
        Its folder, or its files.

    Returns
    -------
    Dataset
        Recordings to learn from and to watch, with labels and events where they are known, and
        which version was found.
    """
    if name not in DATASETS:
        raise UnknownNameError(name, "dataset", DATASETS)
    module = import_module(f"causewatch.data.datasets.{DATASETS[name].module}")
    dataset: Dataset = module.load([Path(path) for path in paths])
    return dataset
