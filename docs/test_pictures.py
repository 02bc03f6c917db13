"""A picture of paired ratios has a dot a seed, and says "no difference" where the interval contains 1."""
from pictures import paired


def comparison(*ratios, low, high):
    spread = {"ratios": [{"seed": i, "ratio": one} for i, one in enumerate(ratios, 1)], "median": ratios[0], "ci_low": low, "ci_high": high}
    return {"ratios": [{"name": "a", "fields": {"fct": {"mean_us": spread}}}]}


def test_a_dot_a_seed_and_a_verdict():
    apart = paired(comparison(0.5, 0.6, 0.7, low=0.5, high=0.7), "fct.mean_us", "title")
    assert apart.count("<circle") == 3
    assert "excludes 1" in apart
    alike = paired(comparison(0.9, 1.2, low=0.9, high=1.2), "fct.mean_us", "title")
    assert alike.count("<circle") == 2
    assert "no difference" in alike


def test_one_is_on_the_axis():
    svg = paired(comparison(3.0, low=3.0, high=3.0), "fct.mean_us", "title")
    assert '>1</text>' in svg and '>4</text>' in svg


if __name__ == "__main__":
    test_a_dot_a_seed_and_a_verdict()
    test_one_is_on_the_axis()
