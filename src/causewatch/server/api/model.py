"""What the model says about itself, and its graph as files."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from functools import cache
from typing import Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from causewatch.model import NormalModel
from causewatch.server.api.tables import content
from causewatch.server.plant import finite, shortened
from causewatch.server.schemas import ModelBody, NoticedBody
from causewatch.server.served import Served

__all__ = ["router"]

KINDS = {"json": "application/json", "gml": "text/plain", "dot": "text/vnd.graphviz"}


def router(served: Served) -> APIRouter:
    """See `causewatch.server.api`."""
    api = APIRouter(tags=["model"])
    model = served.model

    @cache
    def about() -> dict[str, Any]:
        return model_dict(model) | {"settings": served.settings}

    @api.get("/api/model", response_model=ModelBody)
    def whole() -> Response:
        """Data quality, provenance, limits and mechanisms."""
        return JSONResponse(about())

    @api.get("/api/noticed", response_model=NoticedBody)
    async def noticed() -> Response:
        """The least that would be noticed about each signal; the first answer takes a while."""
        return JSONResponse({"signals": await asyncio.wrap_future(served.noticed.find())})

    @api.get("/api/graph.{kind}", response_class=Response, responses=content(*KINDS.values(), {}))
    def graph(kind: Literal["json", "gml", "dot"]) -> Response:
        """The causal graph as a file."""
        made = {"json": model.graph.to_json, "gml": model.graph.to_gml, "dot": model.graph.to_dot}
        return Response(
            made[kind]().encode("utf-8", "replace"),
            media_type=KINDS[kind] + "; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="graph.{kind}"'},
        )

    return api


def model_dict(model: NormalModel) -> dict[str, Any]:
    """A model as plain data."""
    every = model.preprocessing.every
    limits, ranges = model.watching.limits, model.watching.ranges
    provenance = asdict(model.provenance)
    provenance["files"] = [dict(one) for one in model.provenance.files]
    mechanisms = [
        {
            "signal": name,
            "explained": finite(one.explained),
            "spread": shortened(one.spread),
            "intercept": shortened(one.intercept),
            "centre": shortened(model.centre[name]),
            "scale": shortened(model.scale[name]),
            "causes": [
                {
                    "source": link.source,
                    "lag": link.lag,
                    "coefficient": shortened(weight),
                    "strength": shortened(model.graph[link].value),
                }
                for link, weight in one.coefficients.items()
            ],
        }
        for name, one in model.mechanisms.items()
    ]
    return {
        "findings": [one.to_dict() for one in model.report],
        "provenance": provenance,
        "preprocessing": model.preprocessing.to_dict(),
        "limits": {
            "detector": "published" if limits is None else "default",
            "false_alarm_every": None
            if limits is None
            else finite(limits.false_alarm_every * every),
            "supported": None if limits is None else finite(limits.supported * every),
            "margin": None if limits is None else finite(limits.settings.margin),
        },
        "mechanisms": mechanisms,
        "guarded": [
            {"signal": name, "low": finite(float(low)), "high": finite(float(high))}
            for name, low, high in zip(model.watching.guarded, ranges.low, ranges.high, strict=True)
        ],
    }
