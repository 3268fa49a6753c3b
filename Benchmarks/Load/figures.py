"""Samples by round, and the tables made of them."""
from statistics import median


class Figures:
    def __init__(self):
        self._samples = {}  # (work, name, unit): one value for each round
        self._ratios = []

    def add(self, work, name, unit, value):
        self._samples.setdefault((work, name, unit), []).append(value)

    def compare(self, work, name, other):
        """Adds a row to the table: `name` as a multiple of `other`, in each round."""
        if (work, name, other) not in self._ratios:
            self._ratios.append((work, name, other))

    def lines(self):
        """A table in Markdown: least, median, greatest."""
        yield "| work | what | unit | least | median | greatest |"
        yield "|---|---|---|---|---|---|"
        for (work, name, unit), values in self._samples.items():
            yield f"| {work} | {name} | {unit} | {spread(values)} |"
        yield ""
        yield "| work | ratio within a round | least | median | greatest |"
        yield "|---|---|---|---|---|"
        for work, name, other in self._ratios:
            ratios = [mine / theirs for mine, theirs
                      in zip(self._values(work, name), self._values(work, other))]
            if ratios:
                yield f"| {work} | {name} ÷ {other} | {spread(ratios)} |"

    def _values(self, work, name):
        for (its_work, its_name, _), values in self._samples.items():
            if (its_work, its_name) == (work, name):
                return values
        return []


def spread(values):
    return " | ".join(rounded(value) for value in (min(values), median(values), max(values)))


def rounded(value):
    """Three significant digits, whole from 100 on."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.{2 if value >= 1 else 3}f}"
