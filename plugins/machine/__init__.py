"""The verdict for other machines: JUnit XML, CTRF JSON and the summary of a GitHub step.

Each is a pure function of the verdict and of nothing else: what pytest counted has no part in them. None of them is
green where the verdict is not: a verdict that withholds its go though no check failed gets a case of its own.
"""
