"""From ticks to a causal graph: PCMCI on lagged moments, other tests and other discoverers."""

from causewatch.discovery.discoverers import Discoverer, Granger, Pcmci
from causewatch.discovery.features import (
    BlockCorrelation,
    FeatureMap,
    FeatureMoments,
    feature_maps,
)
from causewatch.discovery.given import GivenGraph, read_links
from causewatch.discovery.independence import (
    BulkTest,
    IndependenceTest,
    Node,
    OneByOne,
    PartialCorrelation,
)
from causewatch.discovery.knowledge import Constraints, Knowledge, load_knowledge
from causewatch.discovery.moments import LaggedMoments
from causewatch.discovery.named import TESTS, TestName, bulk_test, normal_scores
from causewatch.discovery.nonlinear import ConditionalMutualInformation
from causewatch.discovery.oracle import OracleTest
from causewatch.discovery.pcmci import DiscoveryResult, pcmci, run_pcmci
from causewatch.discovery.pcmciplus import PlusResult, pcmciplus, run_pcmciplus
from causewatch.discovery.resampling import LinkConfidence, confidence_of_links

__all__ = [
    "TESTS",
    "BlockCorrelation",
    "BulkTest",
    "ConditionalMutualInformation",
    "Constraints",
    "Discoverer",
    "DiscoveryResult",
    "FeatureMap",
    "FeatureMoments",
    "GivenGraph",
    "Granger",
    "IndependenceTest",
    "Knowledge",
    "LaggedMoments",
    "LinkConfidence",
    "Node",
    "OneByOne",
    "OracleTest",
    "PartialCorrelation",
    "Pcmci",
    "PlusResult",
    "TestName",
    "bulk_test",
    "confidence_of_links",
    "feature_maps",
    "load_knowledge",
    "normal_scores",
    "pcmci",
    "pcmciplus",
    "read_links",
    "run_pcmci",
    "run_pcmciplus",
]
