"""No telemetry from the peers: Haystack reads this when it is imported."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
