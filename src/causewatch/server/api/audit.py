"""What operators did."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response

from causewatch.server.schemas import AuditTrail
from causewatch.server.served import Served

__all__ = ["router"]


def router(served: Served) -> APIRouter:
    """See `causewatch.server.api`."""
    api = APIRouter(tags=["audit"])

    @api.get("/api/audit", response_model=AuditTrail)
    def audit(most: Annotated[int, Query(ge=1, le=10_000)] = 200) -> Response:
        """The last actions, latest first. For the role operate."""
        return JSONResponse({"entries": served.audit.latest(most)})

    return api
