"""Exhaustive search of small worlds for a schedule that makes a told word untrue."""

from surewrite.testing.explorer.exploration import Report as Report
from surewrite.testing.explorer.exploration import Verdict as Verdict
from surewrite.testing.explorer.exploration import case_names as case_names
from surewrite.testing.explorer.exploration import explore as explore
