"""A picture of paired ratios has a point a seed and a line at 1, and says "no difference" where the interval contains 1."""
from pictures import paired


def comparison(*ratios, low, high):
    spread = {"ratios": [{"seed": i, "ratio": one} for i, one in enumerate(ratios, 1)], "median": ratios[0], "ci_low": low, "ci_high": high}
    return {"ratios": [{"name": "a", "fields": {"fct": {"mean_us": spread}}}]}


def test_a_point_a_seed_and_a_verdict():
    apart, = paired(comparison(0.5, 0.6, 0.7, low=0.5, high=0.7), "fct.mean_us", "ratio")
    assert apart["lines"]["one seed"] == [(1, 0.5), (2, 0.6), (3, 0.7)]
    assert apart["lines"]["equal to the baseline"] == [(1, 1), (3, 1)]
    assert {value for _, value in apart["lines"]["median and its 95% interval"]} == {(0.5, 0.5, 0.7)}
    assert apart["title"] == "a: 0.50 [0.50, 0.70], the interval excludes 1"
    alike, = paired(comparison(0.9, 1.2, low=0.9, high=1.2), "fct.mean_us", "ratio")
    assert len(alike["lines"]["one seed"]) == 2
    assert "no difference" in alike["title"]


if __name__ == "__main__":
    test_a_point_a_seed_and_a_verdict()
