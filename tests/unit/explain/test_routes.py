"""Curves around boxes."""

import numpy as np

from causewatch.explain.routes import label_places, route

ROW = np.array([[0.0, 0.0, 0.3, 0.15], [2.0, 0.0, 0.3, 0.15], [4.0, 0.0, 0.3, 0.15]])


def points(way):
    t = np.linspace(0, 1, 101)[:, None]
    a, b, c = way.curve
    return (1 - t) ** 2 * a + 2 * t * (1 - t) * b + t**2 * c


def draw(boxes, ends, heads=0.1):
    return route(boxes, ends, heads=[heads] * len(ends), clearance=0.06, radius=0.15)


def test_an_arrow_goes_round_the_box_between_its_ends():
    (way,) = draw(ROW, [(0, 2)])
    off = np.abs(points(way) - ROW[1, :2])
    assert not ((off < ROW[1, 2:]).all(axis=1)).any()


def test_an_arrow_runs_from_rim_to_rim():
    (way,) = draw(ROW[:2], [(0, 1)])
    start, tip = way.curve[0], way.head[0]
    assert abs(start[0] - 0.3) < 0.05
    assert abs(tip[0] - 1.7) < 0.05
    assert np.hypot(*(way.head[1:].mean(axis=0) - tip)) > 0.09
    (line,) = draw(ROW[:2], [(0, 1)], heads=0.0)
    assert line.head is None
    assert abs(line.curve[2, 0] - 1.7) < 0.05


def test_there_and_back_keep_apart():
    there, back = draw(ROW[:2], [(0, 1), (1, 0)])
    assert np.abs(points(there)[50] - points(back)[50]).max() > 0.1


def test_labels_keep_clear_of_boxes_and_each_other():
    ways = draw(ROW, [(0, 1), (1, 0), (1, 2), (0, 2)])
    places = [place for place in label_places(ways, ROW, [(0.1, 0.1)] * 4) if place]
    assert len(places) >= 3
    for k, place in enumerate(places):
        assert not (np.abs(np.array(place) - ROW[:, :2]) < ROW[:, 2:]).all(axis=1).any()
        for other in places[:k]:
            assert np.abs(np.subtract(place, other)).max() > 0.1


def test_no_room_no_label():
    ways = draw(ROW[:2], [(0, 1)])
    assert label_places(ways, ROW[:2], [(5.0, 5.0)]) == [None]
