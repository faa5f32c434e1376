"""From the tags of a plant to the nodes of an OPC UA server.

A tag is a node id (``ns=2;s=LIT101``, ``nsu=urn:plant;s=LIT101``) or a browse path below the root
(``2:Plant/2:LIT101``; a slash within a name is written ``&/``). Numbers of namespaces may change
when a server is started anew, so everything is looked up again for each session; only ``nsu=``
still means the same node then.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from typing import Any

from causewatch.errors import SettingError, listing, shorten
from causewatch.extras import needed
from causewatch.streaming.tags import Tag

__all__ = ["Limit", "browse", "is_node_id", "path_of", "resolve", "root_of"]

log = logging.getLogger(__name__)

NODE_ID = re.compile(r"(?:(?:ns=(?P<index>\d+)|nsu=(?P<uri>.+?));)?(?P<rest>[isgb]=.+)", re.DOTALL)
PART = re.compile(r"(?:(?P<index>\d+):)?(?P<name>.+)", re.DOTALL)
AT_ONCE = 200
"""Nodes asked about in one request; servers limit that."""

SERVER_OBJECT = 2253
"""Number of the node below which a server tells about itself."""

Limit = tuple[int, int]
"""How deep to browse, and how many nodes to look at."""


def is_node_id(tag: str) -> bool:
    """Whether a tag is a node id rather than a browse path."""
    return NODE_ID.fullmatch(tag.strip()) is not None


def path_of(tag: str) -> list[tuple[int, str]]:
    """The namespaces and names of a browse path; raises `SettingError`."""
    found: list[tuple[int, str]] = []
    for part in re.split(r"(?<!&)/", tag.strip().strip("/")):
        named = PART.fullmatch(part)
        if named is None:
            msg = (
                f"{shorten(tag)!r} is neither a node id like ns=2;s=LIT101 nor a browse path like"
                " 2:Plant/2:LIT101."
            )
            raise SettingError(msg)
        found.append((int(named["index"] or 0), named["name"].replace("&/", "/")))
    return found


def _node_id(tag: str, namespaces: Sequence[str]) -> Any:
    """The node id of a tag; None if the server has no such namespace, or it is no node id."""
    ua: Any = needed("asyncua.ua", "opcua")
    named = NODE_ID.fullmatch(tag.strip())
    assert named is not None
    index = int(named["index"] or 0)
    if named["uri"] is not None:
        if named["uri"] not in namespaces:
            return None
        index = namespaces.index(named["uri"])
    try:
        return ua.NodeId.from_string(f"ns={index};{named['rest']}")
    except (ua.UaError, ValueError):
        return None


async def root_of(client: Any, root: str, namespaces: Sequence[str]) -> Any:
    """The node id below which to look: the server's Objects unless the option says otherwise."""
    ua: Any = needed("asyncua.ua", "opcua")
    objects = ua.NodeId(ua.ObjectIds.ObjectsFolder)
    if not root:
        return objects
    found = await resolve(client, [Tag(root, root)], objects, namespaces)
    return found.get(root)


async def resolve(
    client: Any, tags: Sequence[Tag], root: Any, namespaces: Sequence[str]
) -> dict[str, Any]:
    """Node ids by tag, of those that can be told; a node id is not checked for being there."""
    ua: Any = needed("asyncua.ua", "opcua")
    found: dict[str, Any] = {}
    paths: list[tuple[str, Any]] = []
    for tag in tags:
        if is_node_id(tag.tag):
            node = _node_id(tag.tag, namespaces)
            if node is not None:
                found[tag.tag] = node
            continue
        elements = [
            ua.RelativePathElement(
                ReferenceTypeId=ua.NodeId(ua.ObjectIds.HierarchicalReferences),
                IsInverse=False,
                IncludeSubtypes=True,
                TargetName=ua.QualifiedName(name, index),
            )
            for index, name in path_of(tag.tag)
        ]
        path = ua.BrowsePath(StartingNode=root, RelativePath=ua.RelativePath(elements))
        paths.append((tag.tag, path))
    for some in _chunks(paths):
        asked = [path for _, path in some]
        answers = await client.uaclient.translate_browsepaths_to_nodeids(asked)
        for (tag_name, _), answer in zip(some, answers, strict=True):
            if answer.StatusCode.is_good() and answer.Targets:
                found[tag_name] = _local(answer.Targets[0].TargetId)
    return found


async def browse(client: Any, root: Any, wanted: Iterable[str], limit: Limit) -> dict[str, Any]:
    """Node ids of the variables below `root` whose browse name or display name is wanted.

    Breadth first: of two nodes with the same name the one nearer to the root is taken, and a
    browse name counts more than a display name. What the server tells about itself is left out.
    """
    ua: Any = needed("asyncua.ua", "opcua")
    names = set(wanted)
    found: dict[str, tuple[int, Any]] = {}
    twice: set[str] = set()
    seen = {root}
    level = [root]
    depth, most = limit
    for _ in range(depth):
        following: list[Any] = []
        for some in _chunks(level):
            for one in await _children(client, some):
                node = _local(one.NodeId)
                if node in seen or node == ua.NodeId(SERVER_OBJECT):
                    continue
                seen.add(node)
                if one.NodeClass == ua.NodeClass.Variable:
                    _note(one, node, names, found, twice)
                following.append(node)
                if len(seen) >= most:
                    log.warning("Browsing stopped after %d nodes; name a root or a tag map.", most)
                    return {name: node for name, (_, node) in found.items()}
        if not following or len(found) == len(names):
            break
        level = following
    if twice:
        log.warning("Several nodes are called %s; name them in a tag map.", listing(sorted(twice)))
    return {name: node for name, (_, node) in found.items()}


def _note(
    one: Any, node: Any, names: set[str], found: dict[str, tuple[int, Any]], twice: set[str]
) -> None:
    """Take a variable if it is called like something wanted."""
    for rank, name in enumerate((one.BrowseName.Name, one.DisplayName.Text)):
        if name not in names:
            continue
        if name not in found or rank < found[name][0]:
            found[name] = (rank, node)
        elif rank == found[name][0]:
            twice.add(name)
        return


async def _children(client: Any, nodes: Sequence[Any]) -> list[Any]:
    """What stands below some nodes; those that the server will not show are left out."""
    ua: Any = needed("asyncua.ua", "opcua")
    parameters = ua.BrowseParameters()
    parameters.View = ua.ViewDescription()
    parameters.RequestedMaxReferencesPerNode = 0
    parameters.NodesToBrowse = [
        ua.BrowseDescription(
            NodeId=node,
            BrowseDirection=ua.BrowseDirection.Forward,
            ReferenceTypeId=ua.NodeId(ua.ObjectIds.HierarchicalReferences),
            IncludeSubtypes=True,
            NodeClassMask=int(ua.NodeClass.Object) | int(ua.NodeClass.Variable),
            ResultMask=ua.BrowseResultMask.All,
        )
        for node in nodes
    ]
    answers = await client.uaclient.browse(parameters)
    found: list[Any] = []
    while answers:
        found += [one for answer in answers for one in answer.References or ()]
        points = [answer.ContinuationPoint for answer in answers if answer.ContinuationPoint]
        if not points:
            break
        onward = ua.BrowseNextParameters()
        onward.ReleaseContinuationPoints = False
        onward.ContinuationPoints = points
        answers = await client.uaclient.browse_next(onward)
    return found


def _local(node: Any) -> Any:
    """A node id without the name of a server, which some give for their own nodes too."""
    ua: Any = needed("asyncua.ua", "opcua")
    return ua.NodeId(node.Identifier, node.NamespaceIndex, node.NodeIdType)


def _chunks(items: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (items[k : k + AT_ONCE] for k in range(0, len(items), AT_ONCE))
