"""From ticks to a causal graph: PCMCI on lagged moments, other tests and other discoverers."""

from causewatch.discovery.discoverers import (
    TESTS,
    Discoverer,
    Granger,
    Pcmci,
    TestName,
    normal_scores,
)
from causewatch.discovery.independence import (
    BulkTest,
    IndependenceTest,
    Node,
    OneByOne,
    PartialCorrelation,
)
from causewatch.discovery.knowledge import Constraints, Knowledge, load_knowledge
from causewatch.discovery.moments import LaggedMoments
from causewatch.discovery.nonlinear import ConditionalMutualInformation
from causewatch.discovery.oracle import OracleTest
from causewatch.discovery.pcmci import DiscoveryResult, pcmci, run_pcmci
from causewatch.discovery.pcmciplus import PlusResult, pcmciplus, run_pcmciplus

__all__ = [
    "TESTS",
    "BulkTest",
    "ConditionalMutualInformation",
    "Constraints",
    "Discoverer",
    "DiscoveryResult",
    "Granger",
    "IndependenceTest",
    "Knowledge",
    "LaggedMoments",
    "Node",
    "OneByOne",
    "OracleTest",
    "PartialCorrelation",
    "Pcmci",
    "PlusResult",
    "TestName",
    "load_knowledge",
    "normal_scores",
    "pcmci",
    "pcmciplus",
    "run_pcmci",
    "run_pcmciplus",
]
