"""`LaggedMoments`: what it holds, how it is cut, merged, saved and refused."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from causewatch.discovery import moments as module
from causewatch.discovery.independence import PartialCorrelation
from causewatch.discovery.moments import LaggedMoments
from causewatch.discovery.pcmci import pcmci
from causewatch.errors import CausewatchError, ModelFileError, SettingError
from recordings import quiet, stable, with_gaps

MAX_LAG = 2
REACH = 2 * MAX_LAG


def moments_of(values, max_lag=MAX_LAG):
    return LaggedMoments(values.shape[1], max_lag=max_lag).update(values)


def assert_same(one, two, tolerance=1e-12):
    assert one.windows == two.windows
    found = [pcmci(moments, min_lag=0) for moments in (one, two)]
    np.testing.assert_allclose(found[0].value, found[1].value, 0, tolerance)
    assert found[0].parents == found[1].parents
    assert set(found[0].graph) == set(found[1].graph)


def state(moments):
    return [*moments.scatter()[0], moments.windows]


def assert_identical(one, two):
    for a, b in zip(state(one), state(two), strict=True):
        np.testing.assert_array_equal(a, b)


def test_covariance_and_means_are_those_of_the_windows():
    values = stable(1, 3, 80) * [1e-3, 1.0, 1e4] + [5.0, -3.0, 1e6]
    values[40, 1] = np.nan
    moments = moments_of(values)
    columns = naive.lagged_columns(values, MAX_LAG)
    ordered = [columns[signal, lag] for lag in range(REACH + 1) for signal in range(3)]
    assert moments.windows == len(ordered[0])
    means = np.array([column.mean() for column in ordered], dtype=float).reshape(REACH + 1, 3)
    np.testing.assert_allclose(moments.means(), means, rtol=1e-13)
    truth = naive.covariance(ordered)
    np.testing.assert_allclose(
        moments.covariance(), truth, rtol=1e-11, atol=1e-12 * np.sqrt(truth.diagonal().min())
    )


@pytest.mark.parametrize("max_lag", [1, 3])
def test_one_signal(max_lag):
    values = stable(2, 1, 100)
    found = pcmci(values, max_lag=max_lag, min_lag=0)
    value, p_value, parents = naive.pcmci(values, max_lag, 0)
    np.testing.assert_allclose(found.value, value, 0, 1e-12)
    np.testing.assert_allclose(found.p_value, p_value, 0, 1e-12)
    assert found.parents == {"x0": [(f"x{i}", lag) for i, lag in parents[0]]}


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 7, 64])
def test_pieces_of_any_size_give_the_whole(piece):
    values = with_gaps(3, rows=200)
    cut = LaggedMoments(4, max_lag=MAX_LAG)
    for start in range(0, len(values), piece):
        cut.update(values[start : start + piece])
    assert_same(cut, moments_of(values))


def test_empty_updates_change_nothing():
    values = stable(4, 3, 60)
    moments = LaggedMoments(3, max_lag=MAX_LAG).update(values[:0]).update(values[:30])
    moments.update(np.empty((0, 3))).update(values[30:])
    assert_same(moments, moments_of(values))


def test_a_result_in_between_changes_nothing():
    values = stable(5, 3, 90)
    quiet_one, curious = LaggedMoments(3, max_lag=2), LaggedMoments(3, max_lag=2)
    for start in range(0, 90, 15):
        quiet_one.update(values[start : start + 15])
        curious.update(values[start : start + 15])
        curious.scatter()
        curious.covariance()
        curious.means()
    assert_identical(quiet_one, curious)


def test_a_new_stretch_is_not_reached_across():
    values = stable(6, 3, 120)
    moments = moments_of(values[:50])
    moments.new_stretch()
    moments.new_stretch()  # saying it twice changes nothing
    moments.update(values[50:])
    value, *_ = naive.pcmci(values, MAX_LAG, 0, starts=(0, 50))
    assert moments.windows == 120 - 2 * REACH
    np.testing.assert_allclose(pcmci(moments, min_lag=0).value, value, 0, 1e-12)


def test_update_stretches_begins_a_stretch_at_every_start():
    values = stable(7, 3, 120)
    at_once = LaggedMoments(3, max_lag=MAX_LAG).update_stretches(values, [0, 50, 53, 80])
    one_by_one = LaggedMoments(3, max_lag=MAX_LAG)
    for start, stop in [(0, 50), (50, 53), (53, 80), (80, 120)]:
        one_by_one.merge(moments_of(values[start:stop]))
    assert_same(at_once, one_by_one)


def test_many_short_stretches_and_missing_cells():
    rng = np.random.default_rng(8)
    values = stable(8, 3, 3000)
    starts = np.flatnonzero(rng.random(3000) < 0.12)
    assert len(starts) > module.MOST_WAITING
    values[rng.random(values.shape) < 0.01] = np.nan
    columns = naive.lagged_columns(values, 1, starts)
    moments = LaggedMoments(3, max_lag=1).update_stretches(values, starts)
    ordered = [columns[signal, lag] for lag in range(3) for signal in range(3)]
    assert moments.windows == len(ordered[0])
    np.testing.assert_allclose(moments.covariance(), naive.covariance(ordered), 0, 1e-13)


@pytest.mark.parametrize("cuts", [[60], [30, 31, 90], [4, 8, 12, 100]])
def test_adjacent_pieces_with_context_merge_to_the_whole(cuts):
    values = stable(9, 3, 120)
    merged = LaggedMoments(3, max_lag=MAX_LAG)
    for start, stop in zip([0, *cuts], [*cuts, 120], strict=True):
        merged.merge(moments_of(values[max(0, start - REACH) : stop]))
    assert_same(merged, moments_of(values))


def test_the_order_of_merging_does_not_matter():
    parts = [stable(k, 3, 60) * 10.0**k + 100.0 * k for k in range(3)]
    starts = (0, 60, 120)
    value, *_ = naive.pcmci(np.concatenate(parts), MAX_LAG, 0, starts=starts)
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        merged = LaggedMoments(3, max_lag=MAX_LAG)
        for k in order:
            merged.merge(moments_of(parts[k]))
        np.testing.assert_allclose(pcmci(merged, min_lag=0).value, value, 0, 1e-12)


def test_merging_leaves_the_other_as_it_was_and_free_to_go_on():
    values = stable(10, 3, 120)
    other, alone = moments_of(values[60:90]), moments_of(values[60:90])
    merged = moments_of(values[:60] * 7 + 3).merge(other)
    assert_identical(other, alone)
    merged.update(values[:20])
    other.update(values[90:])
    assert_identical(other, moments_of(values[60:90]).update(values[90:]))


def test_merging_goes_on_with_the_open_stretch_of_the_first():
    values = stable(11, 3, 120)
    merged = moments_of(values[:40])
    merged.merge(moments_of(values[80:]))
    merged.update(values[40:80])
    expected = LaggedMoments(3, max_lag=MAX_LAG).update_stretches(values, [0, 80])
    assert_same(merged, expected)


def test_merging_with_itself_counts_every_window_twice():
    moments = moments_of(stable(12, 3, 60))
    value = pcmci(moments).value
    moments.merge(moments)
    assert moments.windows == 2 * (60 - REACH)
    twice = LaggedMoments(3, max_lag=MAX_LAG)
    twice.update_stretches(np.tile(stable(12, 3, 60), (2, 1)), [0, 60])
    assert_same(moments, twice)
    assert value.shape == pcmci(moments).value.shape


def test_empty_moments_merge_both_ways():
    values = stable(13, 3, 60)
    empty = LaggedMoments(3, max_lag=MAX_LAG)
    assert_identical(moments_of(values).merge(empty), moments_of(values))
    assert_identical(empty.merge(moments_of(values)), moments_of(values))


@pytest.mark.parametrize("cut", [0, 1, 3, 40, 61, 120])
def test_saving_and_loading_goes_on_to_the_last_bit(cut, tmp_path):
    values = with_gaps(14, rows=120, share=0.005)
    kept = LaggedMoments(4, max_lag=MAX_LAG).update(values[:cut])
    kept.save(tmp_path / "moments")
    loaded = LaggedMoments.load(tmp_path / "moments")
    assert_identical(loaded, kept)
    kept.update(values[cut:])
    loaded.update(values[cut:])
    assert_identical(loaded, kept)
    assert loaded.signals == kept.signals


def test_a_file_saved_twice_has_the_same_bytes(tmp_path):
    moments = moments_of(stable(15, 3, 50))
    moments.save(tmp_path / "one")
    LaggedMoments.load(tmp_path / "one").save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_file_of_another_kind_or_shape_is_refused(tmp_path):
    from causewatch.archive import read_archive, write_archive

    path = tmp_path / "moments"
    moments_of(stable(16, 2, 50)).save(path)
    content, arrays = read_archive(path, module.KIND, module.VERSION)
    for broken in (
        {k: v for k, v in arrays.items() if k != "context"},
        {**arrays, "rows_low": arrays["rows_low"][1:]},
        {**arrays, "scale": arrays["scale"].astype(np.float32)},
        {**arrays, "context": np.zeros(3)},
    ):
        write_archive(path, module.KIND, module.VERSION, content, broken)
        with pytest.raises(ModelFileError, match="damaged"):
            LaggedMoments.load(path)
    for key in content:
        rest = {k: v for k, v in content.items() if k != key}
        write_archive(path, module.KIND, module.VERSION, rest, arrays)
        with pytest.raises(ModelFileError, match="damaged"):
            LaggedMoments.load(path)


def test_the_rows_are_left_as_they_were():
    values = with_gaps(17, rows=100)
    before = values.copy()
    moments_of(values)
    np.testing.assert_array_equal(values, before)
    values.flags.writeable = False
    moments_of(values)


def test_later_changes_to_the_rows_do_not_reach_in():
    values = stable(18, 2, 60)
    rows = values.copy()
    moments = moments_of(rows[:30])
    rows[:30] = 1e9
    moments.update(values[30:])
    assert_same(moments, moments_of(values))


def test_infinite_values_count_as_missing():
    values = stable(19, 2, 80)
    gone, infinite = values.copy(), values.copy()
    gone[40, 1], infinite[40, 1] = np.nan, -np.inf
    assert_identical(moments_of(gone), moments_of(infinite))


def test_memory_does_not_grow_with_rows_or_stretches():
    moments = LaggedMoments(2, max_lag=1)
    values = stable(20, 2, 2000)
    values[::5] = np.nan
    for start in range(0, 2000, 10):
        moments.update(values[start : start + 10])
        assert len(moments._waiting) < module.MOST_WAITING
        assert len(moments._context) <= moments.reach


@pytest.mark.parametrize("level", [0.0, 0.1, 1e5])
def test_a_signal_that_never_moves_varies_at_no_lag(level):
    values = quiet(21, level=level)
    for moments in (moments_of(values), moments_of(values[:50]).merge(moments_of(values[50:]))):
        varies = moments.scatter()[1].reshape(REACH + 1, 4)
        np.testing.assert_array_equal(varies, np.tile([True, False, True, True], (REACH + 1, 1)))


def test_a_signal_that_moves_in_its_first_rows_only_varies_at_long_lags_only():
    rng = np.random.default_rng(24)
    for _ in range(150):
        rows, noisy = int(rng.integers(20, 400)), int(rng.integers(1, REACH + 1))
        values = stable(24, 2, rows)
        values[:, 1] = rng.choice([0.0, 0.1, -3.3, 1e5])
        values[:noisy, 1] += 10.0 ** rng.integers(-3, 10) * rng.normal(size=noisy)
        first = int(rng.choice([1, 10, rows]))
        moments = moments_of(values[:first]).update(values[first:])
        varies = moments.scatter()[1].reshape(REACH + 1, 2)[:, 1]
        truth = [np.ptp(values[REACH - lag : rows - lag, 1]) > 0 for lag in range(REACH + 1)]
        assert varies.tolist() == truth


@pytest.mark.parametrize("start", [1e-300, 1e-160, 1e-20, 1e20, 1e140])
def test_a_first_piece_of_another_magnitude_does_no_harm(start):
    values = stable(22, 2, 200)
    head = values[:50] * [start, 1.0]
    moments = moments_of(head)
    moments.new_stretch()
    moments.update(values[50:])
    expected, *_ = naive.pcmci(np.concatenate([head, values[50:]]), MAX_LAG, starts=(0, 50))
    np.testing.assert_allclose(pcmci(moments).value, expected, 0, 1e-9)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: LaggedMoments(2, max_lag=0), "max_lag is 0"),
        (lambda: LaggedMoments(0, max_lag=1), "no signals"),
        (lambda: LaggedMoments(2, max_lag=1).update(np.zeros((5, 3))), "2 signals"),
        (lambda: LaggedMoments(2, max_lag=1).update(np.zeros(5)), "2 signals"),
        (lambda: LaggedMoments(2, max_lag=1).update([[1e200, 0.0]]), "larger than"),
        (lambda: LaggedMoments(2, max_lag=1).merge(LaggedMoments(2, max_lag=2)), "same"),
        (lambda: LaggedMoments("ab", max_lag=1).merge(LaggedMoments("ba", max_lag=1)), "same"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(action, words):
    with pytest.raises(SettingError, match=words) as caught:
        action()
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_too_few_windows_say_what_to_do():
    moments = moments_of(stable(23, 2, REACH + 2))
    with pytest.raises(CausewatchError, match=r"Only 2 windows of 5 ticks .* longer recording"):
        PartialCorrelation(moments)
